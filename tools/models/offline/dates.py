"""Dates in a text, and which of them are a person's birth and death."""

import re

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
