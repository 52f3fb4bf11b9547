"""Spans of a text that could be an answer: names, dates, numbers, quoted titles, short phrases."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from hopgraph.tools.models.offline.lexicon import class_words, countries, country_parts, in_class
from hopgraph.tools.models.offline.terms import WORD

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
_MAX_PHRASE_WORDS = 5

SpanKind = Literal["name", "quoted", "date", "number", "country", "phrase"]


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


def _with_regions(text: str, found: list[Span]) -> list[Span]:
    """Return "Town, Region" pairs of neighbouring names whose second one is a country or part of one."""
    return [
        Span(text[a.start : b.end], a.start, "name")
        for a, b in pairwise(found)
        if text[a.end : b.start] == ", " and b.text.lower() in countries() and a.kind != "country"
    ]


def _phrases(text: str) -> list[Span]:
    """Return runs of lower-case content words."""
    runs: list[list[re.Match[str]]] = []
    for word in WORD.finditer(text):
        if word[0][0].isupper() or in_class(word[0].lower(), "stop"):
            continue
        if runs and len(runs[-1]) < _MAX_PHRASE_WORDS and text[runs[-1][-1].end() : word.start()] == " ":
            runs[-1].append(word)
        else:
            runs.append([word])
    return [Span(text[run[0].start() : run[-1].end()], run[0].start(), "phrase") for run in runs]


@lru_cache(maxsize=4_096)
def spans(text: str) -> tuple[Span, ...]:
    """Return every span of a text that could be an answer, each text and place once; empty for a blank text."""
    dated = [Span(m[0], m.start(), "date") for m in DATE.finditer(text) if m[0] not in ("May", "March")]
    taken = {at for span in dated for at in range(span.start, span.end)}
    named = [span for span in names(text) if span.start not in taken]
    numbers = [Span(m[0].rstrip(","), m.start(), "number") for m in _NUMBER.finditer(text) if m.start() not in taken]
    for number in list(numbers):
        unit = WORD.match(text, number.end + 1)
        if unit and in_class(unit[0], "unit"):
            numbers.append(Span(text[number.start : unit.end()], number.start, "number"))
    words = [Span(m[0], m.start(), "number") for m in WORD.finditer(text) if m[0].lower() in class_words("digit")]
    quoted = [Span(m[1].strip(" ,."), m.start(1), "quoted") for m in _QUOTED.finditer(text)]
    every = [*named, *_with_regions(text, named), *quoted, *dated, *numbers, *words, *_phrases(text)]
    return tuple(dict.fromkeys(span for span in every if span.text))
