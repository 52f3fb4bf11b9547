"""Find what an answer can be made of: names, dates, numbers, quoted titles, short phrases."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from hopgraph.tools.models.offline.lexicon import class_words, countries, country_parts, in_class
from hopgraph.tools.models.offline.terms import WORD

Kind = Literal["name", "quoted", "date", "number", "country", "phrase"]
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:(?:\d{{1,2}}(?:st|nd|rd|th)? )?(?:{_MONTHS})(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?(?![a-z\d])"
    r"|(?:early |mid-|late )?(?:1\d|20)\d\ds?(?!\d|[,.]\d)|(?:early |mid-|late )?\d{1,2}(?:st|nd|rd|th) century"
    r"|(?:early |mid-|late )?(?:nine|eigh|seven|six|fif|four|thir|twen)t(?:eenth|ieth) century)"
)
_NUMBER = re.compile(
    r"[$£€]?\b\d[\d,]{0,20}(?:\.\d{1,10})?(?:%| percent\b| per cent\b)?(?: (?:hundred|thousand|million|billion|trillion)\b)?"
)
_NICKNAME = re.compile(r' "[^"\n]{1,20}" [A-Z]')
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")
_LINKS = frozenset(
    [
        "of",
        "the",
        "de",
        "von",
        "van",
        "der",
        "den",
        "la",
        "le",
        "du",
        "da",
        "dos",
        "al",
        "el",
        "ibn",
        "bin",
        "di",
        "del",
        "des",
        "y",
        "e",
        "&",
        "'s",
    ]
)
_SHORT = frozenset(
    ["Jr", "Sr", "Dr", "St", "Mr", "Mrs", "Ms", "Lt", "Col", "Gen", "No", "vs", "Prof", "Capt", "Sgt", "Rev"]
)
_BRACKET = re.compile(r"\(([^()]{0,200})\)")
_DASH = re.compile(r"(?<=[\d\s])[–—-](?=\s*(?:[\d–—-]|[A-Zc]))")
_YEAR = re.compile(r"\b(\d{4})\b")


class Span(NamedTuple):
    """A piece of a text that could be an answer."""

    text: str
    start: int
    kind: Kind

    @property
    def end(self) -> int:
        """The offset after its last character in the text it was found in, for an unchanged piece."""
        return self.start + len(self.text)


def _joined(gap: str, before: str) -> bool:
    """Say whether two words with this gap can belong to one name."""
    if gap in (" ", " & "):
        return True
    return gap == ". " and (len(before) == 1 or before in _SHORT)


def _nickname(text: str, end: int) -> bool:
    """Say whether a quoted nickname and a capital follow, as in `Anna "Annie" Moore`."""
    return _NICKNAME.match(text, end) is not None


def _extend(text: str, words: list[re.Match[str]], first: int) -> int:
    """Return the index of the last word of the name that starts at `first`."""
    last = at = first
    nickname = False
    while at + 1 < len(words) and at - last < 3:
        gap = text[words[at].end() : words[at + 1].start()]
        if not nickname and _nickname(text, words[at].end()):
            nickname = True
        elif not (_joined(gap, words[at][0]) or (nickname and gap == '" ')):
            break
        at += 1
        word = words[at][0]
        if word[0].isupper() or (word[0].isdigit() and at == last + 1):
            last = at
        elif word not in _LINKS:
            break
    return last


def names(text: str) -> list[Span]:
    """Return runs of capitalised words, with inner link words such as "of" and "von"; without a leading article."""
    words = list(WORD.finditer(text))
    found: list[Span] = []
    at = 0
    while at < len(words):
        word = words[at][0]
        initial = len(word) == 1 and text[words[at].end() : words[at].end() + 2] == ". "
        if not word[0].isupper() or (in_class(word.lower(), "stop") and not initial):
            at += 1
            continue
        last = _extend(text, words, at)
        end = words[last].end()
        if text[end : end + 1] == "." and (
            len(words[last][0]) == 1 or words[last][0] in _SHORT or "." in words[last][0]
        ):
            end += 1
        span = text[words[at].start() : end].removesuffix("'s").removesuffix("’s")
        kind: Kind = "country" if span.lower() in countries() and span.lower() not in country_parts() else "name"
        if not in_class(span.lower(), "month"):
            found.append(Span(span, words[at].start(), kind))
        at = last + 1
    return found


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


def dates(text: str) -> list[Span]:
    """Return the dates, years, decades and centuries of a text."""
    return [Span(m[0], m.start(), "date") for m in _DATE.finditer(text) if m[0] not in ("May", "March")]


def numbers(text: str) -> list[Span]:
    """Return the numbers of a text, in figures or as single words, with their scale ("150 million")."""
    figures = [Span(m[0].rstrip(","), m.start(), "number") for m in _NUMBER.finditer(text)]
    for span in list(figures):
        unit = WORD.match(text, span.end + 1) if text[span.end : span.end + 1] == " " else None
        if unit and in_class(unit[0], "unit"):
            figures.append(Span(text[span.start : unit.end()], span.start, "number"))
    digits = class_words("digit")
    return figures + [Span(m[0], m.start(), "number") for m in WORD.finditer(text) if m[0].lower() in digits]


def phrases(text: str) -> list[Span]:
    """Return runs of up to five lower-case content words, and their last word alone."""
    found: list[Span] = []
    run: list[re.Match[str]] = []
    for word in [*WORD.finditer(text), None]:
        fits = word is not None and not word[0][0].isupper() and not in_class(word[0].lower(), "stop")
        if run and (word is None or not fits or text[run[-1].end() : word.start()] != " " or len(run) == 5):
            found.append(Span(text[run[0].start() : run[-1].end()], run[0].start(), "phrase"))
            run = []
        if fits and word is not None:
            run.append(word)
    return found


@lru_cache(maxsize=4_096)
def spans(text: str) -> tuple[Span, ...]:
    """Return every span of a text that could be an answer, each text and place once."""
    named = names(text)
    dated = dates(text)
    taken = {at for span in dated for at in range(span.start, span.end)}
    named = [span for span in named if span.start not in taken]
    counted = [span for span in numbers(text) if span.start not in taken]
    quoted = [Span(m[1].strip(" ,."), m.start(1), "quoted") for m in _QUOTED.finditer(text)]
    every = [*named, *_with_place(text, named), *quoted, *dated, *counted, *phrases(text)]
    return tuple(dict.fromkeys(span for span in every if span.text))


def life(text: str) -> tuple[int, int, int] | None:
    """Find the brackets with a person's dates near the start of a text.

    Returns:
        Their start, the dash between birth and death (their end when only one is told) and their end; None without.
    """
    for bracket in _BRACKET.finditer(text[:400]):
        if _YEAR.search(bracket[1]):
            dash = _DASH.search(bracket[1])
            if dash:
                return bracket.start(), bracket.start(1) + dash.start(), bracket.end()
            if re.search(r"\b(?:born|b\.|died|d\.)", bracket[1]):
                return bracket.start(), bracket.end(), bracket.end()
    return None


def life_date(text: str, span: Span) -> str:
    """Return `born` or `died` for a date in those brackets or right after such a word; else empty."""
    before = text[max(0, span.start - 40) : span.start].lower()
    last = max((before.rfind(word), word) for word in ("born", "died", "death"))
    brackets = life(text)
    if brackets and brackets[0] < span.start < brackets[2]:
        if brackets[1] == brackets[2]:
            return "died" if last[1] != "born" and last[0] >= 0 else "born"
        return "born" if span.start < brackets[1] else "died"
    return "" if last[0] < 0 else last[1].replace("death", "died")


def when(text: str) -> tuple[int, int, int] | None:
    """Return a date as (year, month, day) with 0 for what is not said; None without a year."""
    year = _YEAR.search(text)
    if year is None:
        return None
    words = [word.lower() for word in WORD.findall(text)]
    month = next((at for at, name in enumerate(_MONTHS.lower().split("|"), 1) if name in words), 0)
    day = next((int(word) for word in words if word.isdecimal() and len(word) < 3), 0)
    return int(year[1]), month, day
