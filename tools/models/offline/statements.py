"""Self-contained statements: how a sentence is written as one and read back, and what in it could be an answer."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from hopgraph.tools.models.offline.terms import WORD, class_words, countries, country_parts, in_class, key, terms

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
