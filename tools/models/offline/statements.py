"""The texts of a prompt as statements, one for each sentence or row of a table, and what in them can be an answer."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from hopgraph.tools.models.players.prompt_reading import PromptPassage
from hopgraph.tools.models.players.wording import FUNCTION, WORD, fold, key, names, stand_alone
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.analyser import once_per_passage

_IRREGULAR = {
    **dict.fromkeys(("birth", "birthplace", "birthday"), "born"),
    **dict.fromkeys(("died", "death", "dies", "dead"), "die"),
    **dict.fromkeys(("wrote", "written", "writer", "writes", "author", "authored"), "write"),
    **dict.fromkeys(("wife", "husband", "spouse", "wed"), "marri"),
    **dict.fromkeys(("son", "daughter", "father", "mother", "parent", "children"), "child"),
    **dict.fromkeys(("movie", "film"), "film"),
}
"""Forms of a word of which the first letters do not tell that it is the same."""
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:(?:\d{{1,2}}(?:st|nd|rd|th)? )?(?:{_MONTHS})(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?(?![a-z\d])"
    r"|(?:1\d|20)\d\ds?(?!\d|[,.]\d)|\d{1,2}(?:st|nd|rd|th) century)"
)
"""A day, month, year, decade or century; every part is bounded, so matching is linear."""
_YEAR = re.compile(r"\b\d{4}\b")
_NUMBER = re.compile(
    r"[$£€]?(?<![A-Za-z]-)\b\d[\d,]{0,20}(?:\.\d{1,10})?(?:%| percent\b)?"  # "BX-200" is a name
    r"(?: (?:hundred|thousand|million|billion)\b)?(?: [A-Z]{3}\b)?"
)
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d\n]{2,80})[\"\u201d]")
_LIFE = re.compile(
    r"\(([^()]{0,120}\d{4}[^()]{0,60}?)\s?[\u2013\u2014-]\s?(?=[\d\sA-Zc]{1,20})([^()]{0,120}\d{4}[^()]{0,60})\)"
)
_ASIDE = re.compile(r"(?<!\s)\s*\([^()]{0,80}\)\s*$")
_DEMONYM = re.compile(r" (?:is|was|are|were) an? (?:[\w-]{2,20} ){0,2}?([A-Z][a-z]{3,20})[- ]")
_PAIR = re.compile(r"([^:;|]{1,60}): ((?:[^:;|]|:(?! )){1,1000})(?:; |$)")
_RULE = re.compile(r"^\|?\s*+(?::?+-{3,}+:?+\s*+\|?+\s*+)++$")
_PATH = re.compile(r" [>\u203a\u00bb/] |^[\w.-]+\.\w{2,5}$")
"""Pattern of a breadcrumb or a file name."""
_LONGEST_CELL = 6  # words
_MAX_SENTENCES = 300
_MAX_CHARACTERS = 1_000


@lru_cache(maxsize=65_536)
def term(word: str) -> str:
    """Return a key shared by a word's forms: its first five letters; empty for a function word."""
    low = fold(word).removesuffix("'s")
    return "" if low in FUNCTION else _IRREGULAR.get(low) or _IRREGULAR.get(low.removesuffix("s")) or low[:5]


@once_per_passage
def terms(text: str) -> frozenset[str]:
    """Return the content terms of a text; the parts of hyphenated words count too."""
    words = WORD.findall(text)
    parts = (part for word in words if "-" in word for part in word.split("-"))
    return frozenset(found for word in (*words, *parts) if (found := term(word)))


class Span(NamedTuple):
    """A piece of a statement that could be an answer."""

    text: str
    start: int
    """Its offset; -1 for the title."""
    kind: str
    """name, quoted, date or number."""
    label: str = ""
    """The header of its column."""


@dataclass(frozen=True, eq=False)
class ParsedStatement:
    """One sentence, or one row of a table as "head: cell; head: cell", with the title that it stands under."""

    number: int
    title: str
    whole: str
    """The statement in standalone form."""
    passage: int
    """0 for a statement that no passage shows."""
    place: int
    """Its position in the passage, from 0."""
    plain: str
    """The text for reading: the brackets with a person's dates become "(born 1920, died 1988)"."""
    flat: str
    """Its lower-case words, each between spaces."""
    name: str
    """The title without a closing "(film)" or similar; empty for a breadcrumb or a file name."""
    key: str
    """The name for comparing."""
    demonym: str
    """The nationality in "was an American film director"; empty without one."""
    terms: frozenset[str]
    """The content terms of sentence and title; a word such as "American" after "is an" tells a country."""
    cells: Mapping[str, str]
    """The cells of a row by the heads of their columns; empty for a sentence."""
    spans: tuple[Span, ...]
    """All that could be an answer, each text and place once."""


@lru_cache(maxsize=4_096)
def _statement(number: int, title: str, text: str, passage: int = 0, place: int = 0, told: str = "") -> ParsedStatement:
    plain = _LIFE.sub(r"(born \1, died \2)", text, count=1)
    name = "" if _PATH.search(title) else _ASIDE.sub("", title) or title
    nation, cells = _DEMONYM.search(plain[:300]), _read_row(text)
    country = {term("country"), term("nationality")} if nation else set[str]()
    at = {head: text.find(f"{head}: {cell}") + len(head) + 2 for head, cell in cells.items()}
    in_cells = (span for head, cell in cells.items() for span in _cell_spans(head, cell, at[head]))
    return ParsedStatement(
        number=number,
        title=title,
        whole=told or stand_alone(title, text),
        passage=passage,
        place=place,
        plain=plain,
        flat=f" {key(plain)} ",
        name=name,
        key=key(name),
        demonym=nation[1] if nation else "",
        terms=terms(plain) | terms(title) | country,
        cells=cells,
        spans=tuple(in_cells) if cells else _spans(plain),
    )


def _read_row(text: str) -> dict[str, str]:
    pairs = _PAIR.findall(text) if "; " in text else []
    return dict(pairs) if len(pairs) > 1 and "".join(f"{h}: {c}; " for h, c in pairs) == f"{text}; " else {}


def _cell_spans(head: str, cell: str, at: int) -> list[Span]:
    """Return a cell as one answer; what stands in it where it is longer than an answer."""
    if len(cell.split()) > _LONGEST_CELL:
        return [span._replace(start=at + span.start) for span in _spans(cell)]
    kind = "date" if _DATE.fullmatch(cell) else "number" if _NUMBER.match(cell) else "name"
    return [Span(cell, at, kind, head)]


@lru_cache(maxsize=4_096)
def _spans(text: str) -> tuple[Span, ...]:
    dated = [Span(m[0], m.start(), "date") for m in _DATE.finditer(text) if m[0] not in ("May", "March")]
    taken = {at for span in dated for at in range(span.start, span.start + len(span.text))}
    named = [Span(name, at, "name") for at, name in names(text) if at not in taken]
    numbers = [Span(m[0].rstrip(","), m.start(), "number") for m in _NUMBER.finditer(text) if m.start() not in taken]
    quoted = [Span(m[1].strip(" ,."), m.start(1), "quoted") for m in _QUOTED.finditer(text)]
    found = (*named, *quoted, *dated, *numbers)
    return tuple(dict.fromkeys(span for span in found if span.text and not _PATH.search(span.text)))


def read_passages(passages: Iterable[PromptPassage]) -> list[ParsedStatement]:
    """Return the statements of the passages up to a limit, numbered from 1; very long ones are cut.

    A heading in the text is none, and the head of a table is part of its rows. A passage that is shown in part has "…"
    where sentences were left out.
    """
    found: list[ParsedStatement] = []
    for passage in passages:
        for place, text in enumerate(_sentences(passage.text)):
            found.append(_statement(len(found) + 1, passage.title, text[:_MAX_CHARACTERS], passage.number, place))
            if len(found) == _MAX_SENTENCES:
                return found
    return found


def _sentences(text: str) -> Iterator[str]:
    lines, prose, heads = text.split("\n"), list[str](), list[str]()
    for at, line in enumerate([*lines, ""]):
        is_row = line.lstrip().startswith("|")
        if is_row or not line.strip() or line.startswith("#"):
            for part in "\n".join(prose).split(" … "):
                yield from (part[start:end] for start, end in split_sentences(part))
            prose = []
        if not is_row:
            heads = []
            if line.strip() and not line.startswith("#"):
                prose.append(line)
        elif at + 1 < len(lines) and _RULE.match(lines[at + 1].strip()):
            heads = _split_row(line)
        elif not _RULE.match(line.strip()):
            yield "; ".join(f"{h}: {c}" for h, c in zip(heads, _split_row(line), strict=False) if h and c) or line


def _split_row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_statement(number: int, text: str) -> ParsedStatement:
    """Parse a standalone statement; its title is the text before the colon, else the name at its beginning."""
    title, colon, _ = text[:200].partition(": ")
    is_said = re.search(r"\b(?:is|was|are|were|has|had)\b", title) or title.count("(") != title.count(")")
    if colon and not is_said and (_PATH.search(title) or not _read_row(text)):
        return _statement(number, title, text[len(title) + 2 :], told=text)
    first = names(text[:200])[:1]
    return _statement(number, first[0][1] if first and first[0][0] <= 4 else "", text, told=text)


def date_key(text: str) -> tuple[int, int, int]:
    """Return a date as (year, month, day) with 0 for what is left open."""
    year = _YEAR.search(text)
    words = [word.lower() for word in WORD.findall(text)]
    month = next((at for at, name in enumerate(_MONTHS.lower().split("|"), 1) if name in words), 0)
    day = next((int(word) for word in words if word.isdecimal() and len(word) < 3), 0)
    return (int(year[0]) if year else 0, month, day)
