"""Self-contained statements: how a sentence is written as one, and how it is read back."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hopgraph.tools.models.offline.lexicon import class_words, in_class
from hopgraph.tools.models.offline.spans import Span, life, names, spans
from hopgraph.tools.models.offline.terms import WORD, key, terms

_DATED = re.compile(r" (?:is|was) an? (?:\w+ )?\d{4}\b")
_IS_A = re.compile(r" (?:is|was|are|were) (?:an?|the|one of the) ([^.;:()]{3,60})")
_ASIDE = re.compile(r"\s*\([^()]{0,80}\)\s*$")


@dataclass(frozen=True)
class Statement:
    """One sentence with the title that it speaks about."""

    number: int
    title: str
    text: str

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
        return f" {key(self.text)} "

    @cached_property
    def terms(self) -> frozenset[str]:
        """The content terms of sentence and title, with what the form of the sentence tells."""
        found = {*terms(self.text), *terms(self.title)}
        if brackets := life(self.text):
            found |= {"born"} if brackets[1] == brackets[2] else {"born", "died"}
        if any(span.kind == "country" for span in self.spans):
            found.add("nationality")
        if _DATED.search(self.text):
            found.add("released")
        return frozenset(found)

    @cached_property
    def type(self) -> str:
        """The title's shape: `person` with the dates of a life, else by the noun after "is a"; may be empty."""
        told = _IS_A.search(self.text[:300])
        if life(self.text) or not told:
            return "person" if life(self.text) else ""
        for word in WORD.findall(told[1].lower()):
            for kind, name in (("person", "person"), ("organisation", "group"), ("quoted", "work"), ("place", "place")):
                if in_class(word, name) and not in_class(word, "stop"):
                    return kind
        return ""

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Everything in the sentence that could be an answer."""
        return spans(self.text)


def _lead(sentence: str) -> str:
    """Return the name that a sentence starts with, its subject if it has one."""
    first = names(sentence[:200])[:1]
    return first[0].text if first and first[0].start <= 4 else ""


def write(title: str, sentence: str) -> str:
    """Return a sentence as a statement that stands alone, with its title in front unless it starts with it."""
    sentence = " ".join(sentence.split())
    if not title or _lead(sentence) == title:
        return sentence
    return f"{title}: {sentence}"


@lru_cache(maxsize=8_192)
def read(number: int, text: str) -> Statement:
    """Read a statement; its title is what stands before the colon, else the name that it starts with."""
    for colon in re.finditer(r": ", text[:160]):
        title, rest = text[: colon.start()], text[colon.end() :]
        if rest.split(": ", 1)[0].startswith(title.split(" ")[0]) or ": " not in rest[:80]:
            if class_words("verb").isdisjoint(WORD.findall(title)) and title.count("(") == title.count(")"):
                return Statement(number, title, rest)
            break
    return Statement(number, _lead(text), text)
