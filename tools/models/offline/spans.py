"""Find what an answer can be made of: names, dates, numbers, quoted titles, short phrases."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from hopgraph.tools.models.offline.lexicon import class_words, countries, country_parts, in_class
from hopgraph.tools.models.offline.terms import WORD

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(
    rf"\b(?:(?:\d{{1,2}}(?:st|nd|rd|th)? )?(?:{MONTHS})(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?(?![a-z\d])"
    r"|(?:early |mid-|late )?(?:1\d|20)\d\ds?(?!\d|[,.]\d)|(?:early |mid-|late )?\d{1,2}(?:st|nd|rd|th) century"
    r"|(?:early |mid-|late )?(?:nine|eigh|seven|six|fif|four|thir|twen)t(?:eenth|ieth) century)"
)
"""A day, month, year, decade or century; every part is bounded, so matching is linear."""
_BRACKET = re.compile(r"\(([^()]{0,200})\)")
_DASH = re.compile(r"(?<=[\d\s])[\u2013\u2014-](?=\s*(?:[\d\u2013\u2014-]|[A-Zc]))")
_TOLD = re.compile(r"\b(?:born|b\.|died|d\.)")
_YEAR = re.compile(r"\b(\d{4})\b")


def life(text: str) -> tuple[int, int, int] | None:
    """Find the brackets with a person's dates near the start of a text.

    Returns:
        Their start, the dash between birth and death (their end when only one is told) and their end; None without.
    """
    for bracket in _BRACKET.finditer(text[:400]):
        if _YEAR.search(bracket[1]):
            if dash := _DASH.search(bracket[1]):
                return bracket.start(), bracket.start(1) + dash.start(), bracket.end()
            if _TOLD.search(bracket[1]):
                return bracket.start(), bracket.end(), bracket.end()
    return None


def life_event(text: str, place: int) -> str:
    """Return `born` or `died` for what stands at a place in those brackets or soon after such a word; else empty."""
    before = text[max(0, place - 40) : place].lower()
    last, word = max((before.rfind(word), word) for word in ("born", "died", "death"))
    brackets = life(text)
    if brackets and brackets[0] < place < brackets[2]:
        alone = brackets[1] == brackets[2]
        return "died" if (last >= 0 and word != "born" if alone else place > brackets[1]) else "born"
    return "" if last < 0 else word.replace("death", "died")


def when(text: str) -> tuple[int, int, int] | None:
    """Return a date as (year, month, day) with 0 for what is not said; None without a year."""
    year = _YEAR.search(text)
    if year is None:
        return None
    words = [word.lower() for word in WORD.findall(text)]
    month = next((at for at, name in enumerate(MONTHS.lower().split("|"), 1) if name in words), 0)
    day = next((int(word) for word in words if word.isdecimal() and len(word) < 3), 0)
    return int(year[1]), month, day


Kind = Literal["name", "quoted", "date", "number", "country", "phrase"]
_NUMBER = re.compile(
    r"[$£€]?\b\d[\d,]{0,20}(?:\.\d{1,10})?(?:%| percent\b| per cent\b)?"
    r"(?: (?:hundred|thousand|million|billion|trillion)\b)?"
)
_NICKNAME = re.compile(r' "[^"\n]{1,20}" [A-Z]')
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d\n]{2,80})[\"\u201d]")
_LONGEST_PHRASE = 5


class Span(NamedTuple):
    """A piece of a text that could be an answer."""

    text: str
    start: int
    kind: Kind

    @property
    def end(self) -> int:
        """The offset after its last character in the text that it was found in."""
        return self.start + len(self.text)


def _abbreviated(word: str) -> bool:
    """Say whether a full stop after a word need not end the sentence: an initial, or "Dr." and the like."""
    return len(word) == 1 or word.lower() in class_words("abbreviation")


def _last_word(text: str, words: list[re.Match[str]], first: int) -> int:
    """Return the index of the last word of the name that starts at `first`."""
    last = at = first
    nickname = False
    while at + 1 < len(words) and at - last < 3:
        word, gap = words[at][0], text[words[at].end() : words[at + 1].start()]
        if not nickname and _NICKNAME.match(text, words[at].end()):
            nickname = True
        elif not (gap in (" ", " & ") or (gap == ". " and _abbreviated(word)) or (nickname and gap == '" ')):
            break
        at += 1
        word = words[at][0]
        if word[0].isupper() or (word[0].isdigit() and at == last + 1):
            last = at
        elif word not in class_words("inner"):
            break
    return last


def names(text: str) -> list[Span]:
    """Return runs of capitalised words, with inner words such as "of" and "von"; without a leading article."""
    words = list(WORD.finditer(text))
    found: list[Span] = []
    at = 0
    while at < len(words):
        word, start = words[at][0], words[at].start()
        initial = len(word) == 1 and text.startswith(". ", words[at].end())
        if not word[0].isupper() or (in_class(word.lower(), "stop") and not initial):
            at += 1
            continue
        at = _last_word(text, words, at)
        end = words[at].end() + (text.startswith(".", words[at].end()) and _stopped(words[at][0]))
        span = text[start:end].removesuffix("'s").removesuffix("\u2019s")
        low = span.lower()
        if not in_class(low, "month"):
            found.append(Span(span, start, "country" if low in countries() and low not in country_parts() else "name"))
        at += 1
    return found


def _stopped(word: str) -> bool:
    """Say whether a full stop belongs to the word before it, as in "Jr." and "U.S."."""
    return _abbreviated(word) or "." in word


def _with_place(text: str, found: list[Span]) -> list[Span]:
    """Return "Town, Region" pairs of neighbouring names whose second one is a country or part of one."""
    joined = [(a, b) for a, b in pairwise(found) if text[a.end : b.start] == ", " and b.text.lower() in countries()]
    return [Span(text[a.start : b.end], a.start, "name") for a, b in joined if a.text.lower() not in countries()]


def country_mentions(text: str) -> list[tuple[int, str]]:
    """Return the place and the country of each country, demonym or part of a country that a text names."""
    words = [word for word in WORD.finditer(text) if word[0][0].isupper() or word[0] in ("of", "the", "and")]
    found: list[tuple[int, str]] = []
    taken = 0
    for at, word in enumerate(words):
        for last in reversed(words[at : at + 5]):
            name = text[word.start() : last.end()].lower()
            if word.start() >= taken and name in countries():
                found.append((word.start(), countries()[name]))
                taken = last.end()
                break
    return found


def _numbers(text: str) -> list[Span]:
    """Return the numbers of a text in figures, with their scale and with their unit, and in single words."""
    found: list[Span] = []
    for match in _NUMBER.finditer(text):
        found.append(Span(match[0].rstrip(","), match.start(), "number"))
        unit = WORD.match(text, match.end() + 1) if text.startswith(" ", match.end()) else None
        if unit and in_class(unit[0], "unit"):
            found.append(Span(text[match.start() : unit.end()], match.start(), "number"))
    digits = class_words("digit")
    return found + [Span(m[0], m.start(), "number") for m in WORD.finditer(text) if m[0].lower() in digits]


def _phrases(text: str) -> list[Span]:
    """Return runs of lower-case content words."""
    found: list[Span] = []
    run: list[re.Match[str]] = []
    for word in [*WORD.finditer(text), None]:
        fits = word is not None and not word[0][0].isupper() and not in_class(word[0].lower(), "stop")
        goes_on = word is not None and fits and run and text[run[-1].end() : word.start()] == " "
        if run and (not goes_on or len(run) == _LONGEST_PHRASE):
            found.append(Span(text[run[0].start() : run[-1].end()], run[0].start(), "phrase"))
            run = []
        if fits and word is not None:
            run.append(word)
    return found


@lru_cache(maxsize=4_096)
def spans(text: str) -> tuple[Span, ...]:
    """Return every span of a text that could be an answer, each text and place once; empty for a blank text."""
    dated = [Span(m[0], m.start(), "date") for m in DATE.finditer(text) if m[0] not in ("May", "March")]
    taken = {at for span in dated for at in range(span.start, span.end)}
    named = [span for span in names(text) if span.start not in taken]
    counted = [span for span in _numbers(text) if span.start not in taken]
    quoted = [Span(m[1].strip(" ,."), m.start(1), "quoted") for m in _QUOTED.finditer(text)]
    every = [*named, *_with_place(text, named), *quoted, *dated, *counted, *_phrases(text)]
    return tuple(dict.fromkeys(span for span in every if span.text))
