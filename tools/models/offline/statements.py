"""Parse the texts of a prompt into statements, one per sentence or table row, with candidate answer spans."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from hopgraph.tools.models.players.prompt_reading import PromptPassage
from hopgraph.tools.models.players.wording import FUNCTION, WORD, find_names, fold, key, make_standalone
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.analyzer import once_per_passage

_IRREGULAR = {
    **dict.fromkeys(("birth", "birthplace", "birthday"), "born"),
    **dict.fromkeys(("died", "death", "dies", "dead"), "die"),
    **dict.fromkeys(("wrote", "written", "writer", "writes", "author", "authored"), "write"),
    **dict.fromkeys(("wife", "husband", "spouse", "wed"), "marri"),
    **dict.fromkeys(("son", "daughter", "father", "mother", "parent", "children"), "child"),
    **dict.fromkeys(("movie", "film"), "film"),
}
"""Word forms and synonyms whose first letters differ → common term."""
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:(?:\d{{1,2}}(?:st|nd|rd|th)? )?(?:{_MONTHS})(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?(?![a-z\d])"
    r"|(?:1\d|20)\d\ds?(?!\d|[,.]\d)|\d{1,2}(?:st|nd|rd|th) century)"
)
"""A day, month, year, decade or century; all repetitions are bounded, so matching is linear."""
_YEAR = re.compile(r"\b\d{4}\b")
_NUMBER = re.compile(
    r"[$£€]?(?<![A-Za-z]-)\b\d[\d,]{0,20}(?:\.\d{1,10})?(?:%| percent\b)?"  # but not in "BX-200"
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
"""A breadcrumb or a file name."""
_MAX_CELL_WORDS = 6
_MAX_SENTENCES = 300
_MAX_CHARACTERS = 1_000


@lru_cache(maxsize=65_536)
def term(word: str) -> str:
    """Return a key for all forms of a word, mostly its first five letters; empty for a function word."""
    low = fold(word).removesuffix("'s")
    return "" if low in FUNCTION else _IRREGULAR.get(low) or _IRREGULAR.get(low.removesuffix("s")) or low[:5]


@once_per_passage
def terms(text: str) -> frozenset[str]:
    """Return the content terms of a text, including the parts of hyphenated words."""
    words = WORD.findall(text)
    parts = (part for word in words if "-" in word for part in word.split("-"))
    return frozenset(found for word in (*words, *parts) if (found := term(word)))


class Span(NamedTuple):
    """A candidate answer in a statement."""

    text: str
    start: int
    """Offset; -1 for the title."""
    kind: str
    """`name`, `quoted`, `date` or `number`."""
    label: str = ""
    """Header of its column."""


@dataclass(frozen=True, eq=False)
class ParsedStatement:
    """A sentence, or a table row as "header: cell; header: cell", with the title of its passage."""

    number: int
    title: str
    standalone: str
    """The statement, with its title if that is needed to understand it."""
    passage: int
    """Number of its passage; 0 if it is from another block."""
    position: int
    """Position in the passage, from 0."""
    plain: str
    """The text, with a person's dates in parentheses expanded to "(born 1920, died 1988)"."""
    flat: str
    """The text in lower case, with each word between spaces."""
    name: str
    """The title without a final "(film)" or similar; empty for a breadcrumb or file name."""
    key: str
    """The name, normalized for comparison."""
    demonym: str
    """The nationality in e.g. "was an American film director"; may be empty."""
    terms: frozenset[str]
    """Content terms of sentence and title; a nationality adds the terms of "country" and "nationality"."""
    cells: Mapping[str, str]
    """Column header → cell of a table row; empty for a sentence."""
    spans: tuple[Span, ...]
    """Distinct candidate answers."""


@lru_cache(maxsize=4_096)
def _parse(number: int, title: str, text: str, passage: int = 0, at: int = 0, full: str = "") -> ParsedStatement:
    plain = _LIFE.sub(r"(born \1, died \2)", text, count=1)
    name = "" if _PATH.search(title) else _ASIDE.sub("", title) or title
    nation, cells = _DEMONYM.search(plain[:300]), _read_row(text)
    country = {term("country"), term("nationality")} if nation else set[str]()
    offsets = {header: text.find(f"{header}: {cell}") + len(header) + 2 for header, cell in cells.items()}
    in_cells = (span for header, cell in cells.items() for span in _cell_spans(header, cell, offsets[header]))
    return ParsedStatement(
        number=number,
        title=title,
        standalone=full or make_standalone(title, text),
        passage=passage,
        position=at,
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


def _cell_spans(header: str, cell: str, at: int) -> list[Span]:
    """Return a short cell as one span, and the spans in a longer one."""
    if len(cell.split()) > _MAX_CELL_WORDS:
        return [span._replace(start=at + span.start) for span in _spans(cell)]
    kind = "date" if _DATE.fullmatch(cell) else "number" if _NUMBER.match(cell) else "name"
    return [Span(cell, at, kind, header)]


@lru_cache(maxsize=4_096)
def _spans(text: str) -> tuple[Span, ...]:
    dated = [Span(m[0], m.start(), "date") for m in _DATE.finditer(text) if m[0] not in ("May", "March")]
    taken = {at for span in dated for at in range(span.start, span.start + len(span.text))}
    named = [Span(name, at, "name") for at, name in find_names(text) if at not in taken]
    numbers = [Span(m[0].rstrip(","), m.start(), "number") for m in _NUMBER.finditer(text) if m.start() not in taken]
    quoted = [Span(m[1].strip(" ,."), m.start(1), "quoted") for m in _QUOTED.finditer(text)]
    found = (*named, *quoted, *dated, *numbers)
    return tuple(dict.fromkeys(span for span in found if span.text and not _PATH.search(span.text)))


def read_passages(passages: Iterable[PromptPassage]) -> list[ParsedStatement]:
    """Return the statements of the passages, numbered from 1, up to a limit; very long ones are truncated.

    Headings are skipped, and the header row of a table is part of each row. In excerpts, " … " separates sentences.
    """
    found: list[ParsedStatement] = []
    for passage in passages:
        for at, text in enumerate(_sentences(passage.text)):
            found.append(_parse(len(found) + 1, passage.title, text[:_MAX_CHARACTERS], passage.number, at))
            if len(found) == _MAX_SENTENCES:
                return found
    return found


def _sentences(text: str) -> Iterator[str]:
    lines, prose, headers = text.split("\n"), list[str](), list[str]()
    for at, line in enumerate([*lines, ""]):
        is_row = line.lstrip().startswith("|")
        if is_row or not line.strip() or line.startswith("#"):
            for part in "\n".join(prose).split(" … "):
                yield from (part[start:end] for start, end in split_sentences(part))
            prose = []
        if not is_row:
            headers = []
            if line.strip() and not line.startswith("#"):
                prose.append(line)
        elif at + 1 < len(lines) and _RULE.match(lines[at + 1].strip()):
            headers = _split_row(line)
        elif not _RULE.match(line.strip()):
            yield "; ".join(f"{h}: {c}" for h, c in zip(headers, _split_row(line), strict=False) if h and c) or line


def _split_row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_statement(number: int, text: str) -> ParsedStatement:
    """Parse a standalone statement; its title is the text before the first colon, else the name at its start."""
    title, colon, _ = text[:200].partition(": ")
    is_sentence = re.search(r"\b(?:is|was|are|were|has|had)\b", title) or title.count("(") != title.count(")")
    if colon and not is_sentence and (_PATH.search(title) or not _read_row(text)):
        return _parse(number, title, text[len(title) + 2 :], full=text)
    first = find_names(text[:200])[:1]
    return _parse(number, first[0][1] if first and first[0][0] <= 4 else "", text, full=text)


def parse_date(text: str) -> tuple[int, int, int]:
    """Return a date as (year, month, day), with 0 for missing parts."""
    year = _YEAR.search(text)
    words = [word.lower() for word in WORD.findall(text)]
    month = next((at for at, name in enumerate(_MONTHS.lower().split("|"), 1) if name in words), 0)
    day = next((int(word) for word in words if word.isdecimal() and len(word) < 3), 0)
    return (int(year[0]) if year else 0, month, day)
