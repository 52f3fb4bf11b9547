"""Content terms, with the hand-written word lists, and self-contained statements, written and read back."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from math import log
from typing import Literal, NamedTuple
from unicodedata import combining, normalize

from hopgraph.tools.text import content_terms

WORD = re.compile(r"[^\W_]+(?:[-'\u2019.&/][^\W_]+)*")
"""One word; the separators are outside the class of letters, so matching is linear."""


@lru_cache(maxsize=65_536)
def term(word: str) -> str:
    """Return the term that stands for a word: its relation's head or its stem; empty for a function word."""
    low = fold(word).removesuffix("'s")
    if in_class(low, "stop"):
        return ""
    return relations().get(low) or next(iter(content_terms(low)), low)


def terms(text: str) -> frozenset[str]:
    """Return the content terms of a text; the parts of hyphenated words count too."""
    words = WORD.findall(text)
    parts = (part for word in words if "-" in word for part in word.split("-"))
    return frozenset(found for word in (*words, *parts) if (found := term(word)))


@lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """Return a word in lower case without accents."""
    low = word.lower().replace("\u2019", "'")
    return low if low.isascii() else "".join(c for c in normalize("NFKD", low) if not combining(c))


def key(text: str) -> str:
    """Return a text as lower-case words with single spaces, for comparing names."""
    return " ".join(fold(word) for word in WORD.findall(text))


def weigh(question: str, texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """Weigh the question's terms: rare in the terms of the prompt's texts and in English counts more, names most.

    The weights are positive and add up to 1, in the question's order; empty without content terms.
    """
    counts = Counter(found for text in texts for found in text)
    weights: dict[str, float] = {}
    for position, word in enumerate(WORD.findall(question)):
        if stem := term(word):
            general = 0.4 if in_class(word.lower(), "common") else 1.0
            name = 1.5 if position and word[0].isupper() else 1.0
            rare = log(1 + (len(texts) + 1) / (counts[stem] + 0.5))
            weights[stem] = max(weights.get(stem, 0.0), general * name * rare)
    total = sum(weights.values())
    return {stem: weight / total for stem, weight in weights.items()}


@lru_cache(maxsize=4)
def _rows(name: str) -> dict[str, tuple[str, ...]]:
    """Read `head: word word …` lines; `_` stands for a space inside a word."""
    text = files("hopgraph.tools.models.offline").joinpath(name).read_text(encoding="utf-8")
    lines = (line.partition(":") for line in text.splitlines() if line and not line.startswith("#"))
    return {head: tuple(word.replace("_", " ") for word in tail.split()) for head, _, tail in lines}


@lru_cache(maxsize=64)
def class_words(*names: str) -> frozenset[str]:
    """Return the words of some classes."""
    return frozenset(word for name in names for word in _rows("words.txt")[name])


def in_class(word: str, *names: str) -> bool:
    """Whether a lower-case word, or its plain singular, is in one of the named classes."""
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    return any(not forms.isdisjoint(class_words(name)) for name in names)


@lru_cache(maxsize=1)
def relations() -> dict[str, str]:
    """Map each lower-case word that names a relation to the word that stands for its group."""
    return {word: head for head, words in reversed(_rows("relations.txt").items()) for word in (head, *words)}


@lru_cache(maxsize=1)
def countries() -> dict[str, str]:
    """Map each lower-case country name, demonym and well-known part to the country."""
    rows = _rows("countries.txt").items()
    return {word.lower(): head for head, words in rows for word in (head, *words) if word != "|"}


@lru_cache(maxsize=1)
def country_parts() -> frozenset[str]:
    """Return the lower-case parts of countries, such as states and provinces."""
    rows = (words[words.index("|") + 1 :] for words in _rows("countries.txt").values() if "|" in words)
    return frozenset(word.lower() for words in rows for word in words)


MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(
    rf"\b(?:(?:\d{{1,2}}(?:st|nd|rd|th)? )?(?:{MONTHS})(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?(?![a-z\d])"
    r"|(?:early |mid-|late )?(?:1\d|20)\d\ds?(?!\d|[,.]\d)|(?:early |mid-|late )?\d{1,2}(?:st|nd|rd|th) century)"
)
"""A day, month, year, decade or century; every part is bounded, so matching is linear."""
_NUMBER = re.compile(
    r"[$£€]?\b\d[\d,]{0,20}(?:\.\d{1,10})?(?:%| percent\b)?(?: (?:hundred|thousand|million|billion|trillion)\b)?"
)
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d\n]{2,80})[\"\u201d]")
_YEAR = re.compile(r"\b(\d{4})\b")

_LIFE = re.compile(
    r"\(([^()]{0,120}\d{4}[^()]{0,60}?)\s?[\u2013\u2014-]\s?(?=[\d\sA-Zc]{1,20})([^()]{0,120}\d{4}[^()]{0,60})\)"
)
_IS_A = re.compile(r" (?:is|was|are|were) (?:an?|the|one of the) ([^.;:()]{3,60})")
_ASIDE = re.compile(r"(?<!\s)\s*\([^()]{0,80}\)\s*$")
_TITLE_KINDS = ("person", "group", "work", "place")

SpanKind = Literal["name", "quoted", "date", "number", "country"]


class Span(NamedTuple):
    """A piece of a text that could be an answer."""

    text: str
    start: int
    kind: SpanKind

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.start + len(self.text)


def date_key(text: str) -> tuple[int, int, int] | None:
    """Return a date as (year, month, day) with 0 for what is left open; None without a year."""
    year = _YEAR.search(text)
    words = [word.lower() for word in WORD.findall(text)]
    month = next((at for at, name in enumerate(MONTHS.lower().split("|"), 1) if name in words), 0)
    day = next((int(word) for word in words if word.isdecimal() and len(word) < 3), 0)
    return (int(year[1]), month, day) if year else None


def names(text: str) -> list[Span]:
    """Return runs of capitalised words, with inner words such as "of" and "von"; without a leading article."""
    runs: list[list[re.Match[str]]] = []
    inner = class_words("inner")
    for word in WORD.finditer(text):
        upper = word[0][0].isupper()
        if runs and (upper or word[0][0].isdigit() or word[0] in inner) and _adjoins(text, runs[-1][-1], word):
            runs[-1].append(word)
        elif upper and (text.startswith(". ", word.end()) or not in_class(word[0].lower(), "stop")):
            runs.append([word])
    found: list[Span] = []
    for run in runs:
        while run[-1][0] in inner:
            run.pop()
        span = text[run[0].start() : run[-1].end()].removesuffix("'s").removesuffix("\u2019s")
        low = span.lower()
        if not in_class(low, "month", "stop"):
            kind = "country" if low in countries() and low not in country_parts() else "name"
            found.append(Span(span, run[0].start(), kind))
    return found


def _adjoins(text: str, last: re.Match[str], word: re.Match[str]) -> bool:
    """Whether a word follows another one within a name; a full stop may follow an initial, or "Dr." and the like."""
    gap = text[last.end() : word.start()]
    abbreviated = len(last[0]) == 1 or in_class(last[0].lower(), "abbreviation")
    nickname = gap in (' "', '" ') and word[0][0].isupper()
    return gap in (" ", " & ") or nickname or (gap == ". " and abbreviated)


@lru_cache(maxsize=4_096)
def spans(text: str) -> tuple[Span, ...]:
    """Return every span of a text that could be an answer, each text and place once; empty for a blank text."""
    dated = [Span(m[0], m.start(), "date") for m in DATE.finditer(text) if m[0] not in ("May", "March")]
    taken = {at for span in dated for at in range(span.start, span.end)}
    named = [span for span in names(text) if span.start not in taken]
    numbers = [Span(m[0].rstrip(","), m.start(), "number") for m in _NUMBER.finditer(text) if m.start() not in taken]
    quoted = [Span(m[1].strip(" ,."), m.start(1), "quoted") for m in _QUOTED.finditer(text)]
    return tuple(dict.fromkeys(span for span in (*named, *quoted, *dated, *numbers) if span.text))


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
