"""The elements that every reader of documents yields, and what the readers share."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import accumulate
from typing import Any, Literal, NamedTuple
from zipfile import ZipFile

Row = Sequence[str]
CHINESE = "[\u3001-\u30ff\u3400-\u9fff\uff00-\uff60]"
_CHINESE_BREAK = re.compile(f"(?<={CHINESE})[ \t\r]*\n\\s*(?={CHINESE})")
_MOST_TITLES = 8
_NUMERAL = re.compile(r"[+-]?[\d.,]*\d%?")
_NO_NAME = re.compile(rf".{{61,}}|(?!(?:19|20)\d\d$){_NUMERAL.pattern}|.*\w \w.*[.!?]", re.DOTALL)


class UnreadableFileError(ValueError):
    """A document that cannot be read; the message says why. A folder's other documents are read all the same."""


class Element(NamedTuple):
    """A part of a document that belongs together."""

    kind: Literal["heading", "text", "item", "code", "table", "page", "sheet"]
    """A page (a slide) and a sheet begin where they stand; an item is one of a list, with its mark."""
    text: str = ""
    number: int = 0
    """Level of a heading, number of a page, or first row of a table; all from 1."""
    rows: Sequence[Row] = ()
    """Rows of a table, column names first, all empty if it has none."""
    links: Sequence[tuple[str, str]] = ()
    """Text and relative address of its links to other documents."""


@dataclass
class Document:
    """The content of a document."""

    elements: list[Element] = field(default_factory=list[Element])
    title: str = ""
    """Title stated in the document; empty if it has none."""
    notes: list[str] = field(default_factory=list[str])
    """Notes on parts that were not read."""


def tidy(text: str) -> str:
    """Return a text with single spaces, and without soft hyphens and the like, and line ends within Chinese."""
    text = text if text.isascii() else _CHINESE_BREAK.sub("", text)
    return " ".join(text.replace("\xad", "").replace("\u200b", "").replace("\ufeff", "").split())


def write_table(rows: Sequence[Row]) -> str:
    """Write rows between pipes, a line for each, with a rule below the column names if there are any."""
    head, *body = [f"| {' | '.join(tidy(cell) for cell in row)} |" for row in rows]
    rule = f"|{'---|' * len(rows[0])}"
    return "\n".join([head, rule, *body] if any(cell.strip() for cell in rows[0]) else body)


def make_table(rows: Iterable[Row], number: int = 0, *, heads: int | None = None) -> Iterator[Element]:
    """Yield a table, as texts where it has one row or column; without empty rows and columns, and nothing for none.

    The names of its columns stand over each other in the first `heads` rows, by default in one if it looks so.
    """
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    width = max(map(len, kept), default=0)
    full = [[*row, *[""] * (width - len(row))] for row in kept]
    used = [column for column in range(width) if any(row[column].strip() for row in full)]
    full = [[row[column] for column in used] for row in full]
    if len(full) == 1 or len(used) == 1:
        yield from (Element("text", tidy(" ".join(row)), number and number + at) for at, row in enumerate(full))
    elif full:
        heads = int(has_names(full)) if heads is None or heads >= len(full) else heads
        for row in full[: max(heads - 1, 0)]:  # a name that stands over several columns
            row[1:] = accumulate(row[1:], lambda before, name: name or before)
        names = [tidy(" ".join(dict.fromkeys(row[at] for row in full[:heads]))) for at in range(len(used))]
        yield Element("table", number=number and number + max(heads - 1, 0), rows=[names, *full[heads:]])


def has_names(rows: Sequence[Row]) -> bool:
    """Return whether the first row may be column names: not numbers (other than years), sentences or long texts."""
    first = rows[0] if rows else [""]
    return not first[0] or not (_NUMERAL.fullmatch(first[0]) or any(_NO_NAME.fullmatch(cell) for cell in first))


def split_titles(rows: Sequence[Row]) -> int:
    """Count the rows above a table that are its titles, as they have one cell alone, and those that are empty."""
    filled = [sum(map(bool, row)) for row in rows[:_MOST_TITLES]]
    return next((at for at, count in enumerate(filled) if count > 1), 0)


def read_entry(archive: ZipFile, name: str) -> bytes:
    """Return a file of an archive; empty if it has none of this name."""
    try:
        return archive.read(name)
    except KeyError:
        return b""


def parse_xml(content: bytes) -> Any:
    """Parse XML without entities, DTDs and network; UnreadableFileError where it is none."""
    etree: Any = import_module("lxml.etree")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableFileError(f"it is damaged: {error}"[:200]) from None
