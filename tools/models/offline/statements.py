"""Self-contained statements: how a sentence is written as one, and how it is read back."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hopgraph.tools.models.offline.lexicon import class_words, countries, in_class
from hopgraph.tools.models.offline.spans import Span, names, spans
from hopgraph.tools.models.offline.terms import WORD, key, terms

_LIFE = re.compile(
    r"\(([^()]{0,120}\d{4}[^()]{0,60}?)\s?[\u2013\u2014-]\s?(?=[\d\sA-Zc]{1,20})([^()]{0,120}\d{4}[^()]{0,60})\)"
)
_IS_A = re.compile(r" (?:is|was|are|were) (?:an?|the|one of the) ([^.;:()]{3,60})")
_ASIDE = re.compile(r"(?<!\s)\s*\([^()]{0,80}\)\s*$")
_TITLE_KINDS = ("person", "group", "work", "place")


@dataclass(frozen=True)
class Statement:
    """One sentence with the title that it speaks about."""

    number: int
    title: str
    text: str

    @cached_property
    def plain(self) -> str:
        """The text for reading: the brackets with a person's dates become "(born 1920, died 1988)"."""
        return _LIFE.sub(r"(born \1, died \2)", self.text, count=1)

    @cached_property
    def name(self) -> str:
        """The title without a closing "(film)" or the like."""
        return _ASIDE.sub("", self.title) or self.title

    @cached_property
    def key(self) -> str:
        """The name for comparing."""
        return key(self.name)

    @cached_property
    def flat(self) -> str:
        """The sentence's lower-case words, each between spaces."""
        return f" {key(self.plain)} "

    @cached_property
    def terms(self) -> frozenset[str]:
        """The content terms of sentence and title; a country tells a nationality, "is a 1961 …" a release."""
        found = {*terms(self.plain), *terms(self.title)}
        if any(span.text.lower() in countries() for span in self.spans):
            found.add("nationality")
        if re.search(r" (?:is|was) an? (?:\w+ )?\d{4}\b", self.text):
            found.add("released")
        return frozenset(found)

    @cached_property
    def kind(self) -> str:
        """What the title is: `person` with the dates of a life, else by the noun after "is a"; may be empty."""
        if "(born " in self.plain[:400]:
            return "person"
        noun_phrase = _IS_A.search(self.plain[:300])
        words = WORD.findall(noun_phrase[1].lower()) if noun_phrase else ()
        kinds = (kind for word in words for kind in _TITLE_KINDS if in_class(word, kind) and not in_class(word, "stop"))
        return next(kinds, "")

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Everything in the plain text that could be an answer."""
        return spans(self.plain)


def _subject(sentence: str) -> str:
    """Return the name that a sentence starts with; empty without one."""
    first = names(sentence[:200])[:1]
    return first[0].text if first and first[0].start <= 4 else ""


def write(title: str, sentence: str) -> str:
    """Return a sentence as a statement that stands alone, with its title in front unless it starts with it."""
    sentence = " ".join(sentence.split())
    return sentence if not title or _subject(sentence) == title else f"{title}: {sentence}"


@lru_cache(maxsize=8_192)
def read(number: int, text: str) -> Statement:
    """Read a statement; its title is what precedes the colon, else the name that it starts with."""
    for colon in re.finditer(r": ", text[:160]):
        title, rest = text[: colon.start()], text[colon.end() :]
        if rest.split(": ", 1)[0].startswith(title.split(" ")[0]) or ": " not in rest[:80]:
            if class_words("verb").isdisjoint(WORD.findall(title)) and title.count("(") == title.count(")"):
                return Statement(number, title, rest)
            break
    return Statement(number, _subject(text), text)
