"""The elements that every reader of documents yields, and what the readers share."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, BinaryIO, Literal, NamedTuple
from zipfile import ZipFile

Row = Sequence[str]


class UnreadableFileError(ValueError):
    """A document that cannot be read; the message says why. A folder's other documents are read all the same."""


class Element(NamedTuple):
    """A part of a document that belongs together."""

    kind: Literal["heading", "text", "item", "code", "table", "page", "sheet"]
    """A page (a slide) and a sheet begin where they stand; an item is one of a list, with its mark."""
    text: str = ""
    number: int = 0
    """Of a heading its level, from 1; of a page its number, of a table the row it begins with, both from 1."""
    rows: Sequence[Row] = ()
    """Of a table, the row of its column names first, which are all empty where it has none."""


@dataclass
class Document:
    """What a document says."""

    elements: list[Element] = field(default_factory=list[Element])
    title: str = ""
    """By its own account; empty where it has none."""
    notes: list[str] = field(default_factory=list[str])
    """What of it was not read."""


def tidy(text: str) -> str:
    """Return a text with single spaces, and without soft hyphens and the like."""
    return " ".join(text.replace("\xad", "").replace("\u200b", "").replace("\ufeff", "").split())


def write_table(rows: Sequence[Row]) -> str:
    """Write rows between pipes, a line for each, with a rule below the column names if there are any."""
    head, *body = [f"| {' | '.join(tidy(cell) for cell in row)} |" for row in rows]
    rule = f"|{'---|' * len(rows[0])}"
    return "\n".join([head, rule, *body] if any(cell.strip() for cell in rows[0]) else body)


def make_table(rows: Iterable[Row], number: int = 0, *, has_head: bool = True) -> Iterator[Element]:
    """Yield a table, as a text where it has one cell alone; without empty rows and columns, and nothing for none."""
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    width = max(map(len, kept), default=0)
    full = [[*row, *[""] * (width - len(row))] for row in kept]
    used = [column for column in range(width) if any(row[column].strip() for row in full)]
    full = [[row[column] for column in used] for row in full]
    if len(full) == 1 or len(used) == 1:
        yield from (Element("text", tidy(" ".join(row))) for row in full)
    elif full:
        yield Element("table", number=number, rows=full if has_head else [[""] * len(used), *full])


def read_entry(archive: ZipFile, name: str) -> bytes:
    """Return a file of an archive; empty where it has none of this name."""
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


Reader = Callable[[BinaryIO], Document]
