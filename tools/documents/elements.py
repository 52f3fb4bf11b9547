"""The elements that every document reader yields, and code that the readers share."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import accumulate, groupby, pairwise, zip_longest
from typing import Any, Literal, NamedTuple
from zipfile import ZipFile

Row = Sequence[str]
CHINESE = "[\u3001-\u30ff\u3400-\u9fff\uff00-\uff60]"
CHINESE_BREAK = re.compile(f"(?<={CHINESE})[ \t\r]*\n\\s*(?={CHINESE})")
_MOST_TITLES, _ROWS_COMPARED = 8, 100
_NUMERAL = re.compile(r"\(?[+\-\u2212]?[$€£]?\s?[\d.,'\s]*\d\s?[%€$£]?\)?")
_PLAIN_NUMBER = re.compile(rf"(?!(?:19|20)\d\d$){_NUMERAL.pattern}")  # no year
_NO_NAME = re.compile(rf".{{61,}}|{_PLAIN_NUMBER.pattern}|.*\w \w.*[.!]", re.DOTALL)
_RAISED, _LOWERED = (
    dict(zip("0123456789+-\u2212=()in", figures, strict=True))
    for figures in ("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁱⁿ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ᵢₙ")
)
_LARGEST_IN_LETTERS = 3999  # larger numbers would be as long as texts
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_SHOWN = dict(zip("\uf0b7\uf0a7\uf0d8\uf0e0\uf0fc\uf06f\uf0a8\uf0fe", "•▪▸→✓☐☐☒", strict=True)) | dict(
    zip("\ufb00\ufb01\ufb02\ufb03\ufb04", ("ff", "fi", "fl", "ffi", "ffl"), strict=True)
)
_OTHERS = re.compile(f"[\xad\u200b\ufeff{''.join(_SHOWN)}]")
"""Bullets and boxes of fonts of symbols, letters that fonts join, and what shows nothing."""


class UnreadableFileError(ValueError):
    """An unreadable document; the message says why. A folder's other documents are still read."""


class Element(NamedTuple):
    """A coherent part of a document."""

    kind: Literal["heading", "text", "item", "code", "table", "page", "sheet"]
    """A page (a slide) and a sheet begin where they stand; an item is one of a list, with its mark."""
    text: str = ""
    number: int = 0
    """Level of a heading, number of a page, first row of a table, or the line of a plain text; all from 1."""
    rows: Sequence[Row] = ()
    """Rows of a table, column names first, all empty if it has none."""
    links: Sequence[tuple[str, str]] = ()
    """Text and relative address of its links to other documents."""
    mark: str = ""
    """Number of a heading, e.g. `4.2`, which precedes it in paths; language of code, by its file suffix."""


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
    if not text.isascii():
        text = _OTHERS.sub(lambda each: _SHOWN.get(each[0], ""), CHINESE_BREAK.sub("", text))
    return " ".join(text.split())


def write_script(text: str, *, raised: bool) -> str:
    """Return figures, `i` and `n` above or below the line as Unicode has them; a text with others as it is."""
    figures = _RAISED if raised else _LOWERED
    return "".join(map(figures.__getitem__, text)) if figures.keys() >= set(text) else text


def write_number(number: int, form: str) -> str:
    """Return a number in a form of Word's: lowerLetter, upperRoman, …; else in figures."""
    mark = str(number)
    if form.endswith("Letter") and number <= _LARGEST_IN_LETTERS:
        mark = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif form.endswith("Roman") and number <= _LARGEST_IN_LETTERS:
        mark, rest = "", number
        for value, letters in _ROMAN:
            mark += letters * (rest // value)
            rest %= value
    return mark.upper() if form.startswith("upper") else mark


def join_text(elements: Iterable[Element]) -> str:
    """Return all that elements say as one line."""
    return tidy(" ".join(each.text or " ".join(" ".join(row) for row in each.rows) for each in elements))


def write_table(rows: Sequence[Row]) -> str:
    """Return rows as a pipe table, one line each, with a rule below the column names if there are any."""
    head, *body = [f"| {' | '.join(tidy(cell) for cell in row)} |" for row in rows]
    rule = f"|{'---|' * len(rows[0])}"
    return "\n".join([head, rule, *body] if any(cell.strip() for cell in rows[0]) else body)


def make_table(rows: Iterable[Row], number: int = 0, *, heads: int | None = None) -> Iterator[Element]:
    """Yield a table, as texts where it has one row or column; without empty rows and columns, and nothing for none.

    The names of its columns stand over each other in the first `heads` rows, by default in one if it looks so.
    """
    full = _trim(rows)
    if len(full) == 1 or (full and len(full[0]) == 1):
        yield from (Element("text", tidy(" ".join(row)), number and number + at) for at, row in enumerate(full))
    elif full:
        heads = int(has_names(full)) if heads is None or heads >= len(full) else heads
        for row in full[: max(heads - 1, 0)]:  # a name that stands over several columns
            row[1:] = accumulate(row[1:], lambda before, name: name or before)
        names = [tidy(" ".join(dict.fromkeys(cells))) for cells in zip(*full[:heads], strict=True)]
        yield Element(
            "table", number=number and number + max(heads - 1, 0), rows=[names or [""] * len(full[0]), *full[heads:]]
        )


def write_note(number: int, row: Row, at: int, text: str) -> Element:
    """Return a note on a cell, with the cell and what its row is about."""
    key = next(filter(str.strip, row), "")
    about = ", ".join(dict.fromkeys(tidy(cell) for cell in (key, *row[at : at + 1]) if cell.strip()))
    return Element("text", f"Note{about and f' on {about}'}: {tidy(text)}", number)


def make_tables(rows: Iterable[tuple[int, Row]], wide: Collection[int] = ()) -> Iterator[Element]:
    """Yield the tables of a sheet, given its rows with their numbers, and the single cells above each as texts.

    Empty rows part tables, unless what follows goes on under the same names; so do empty columns, where a
    whole table stands behind them. Names that stand over several columns are in the rows `wide`.
    """
    above, used, held = list[Row](), set[int](), list[Element]()
    parts = groupby(rows, lambda each: not any(map(str.strip, each[1])))
    for block in (each for is_empty, part in parts if not is_empty for each in _split_columns(list(part))):
        titles = split_titles([row for _, row in block])
        texts = [Element("text", tidy(" ".join(row)), number) for number, row in block[:titles]]
        body = [row for _, row in block[titles:]]
        if not body:
            continue
        begins, trimmed = block[titles][0], _trim(body)
        columns = {at for row in body for at, cell in enumerate(row) if cell.strip()}
        named = has_names(trimmed)
        if above and len(columns) > 1 and columns <= used and not named:
            yield from texts
            yield from make_table([*above, *body], begins - len(above), heads=len(above))
            held = []
            continue
        yield from (*held, *texts)
        heads = next(count for count in range(1, len(body) + 2) if begins + count - 1 not in wide)
        heads = 2 if heads == 1 and _has_groups(trimmed) else heads
        found = list(make_table(body, begins, heads=heads if heads > 1 else None))
        if len(columns) > 1:
            above, used = body[:heads] if heads > 1 or named else [], columns
        held = found if above and len(body) == 1 < len(columns) else []  # perhaps names above an empty row
        yield from () if held else found
    yield from held


def _split_columns(block: list[tuple[int, Row]]) -> Iterator[list[tuple[int, Row]]]:
    """Yield the tables that stand side by side, all under the numbers of their rows."""
    columns = sorted({at for _, row in block for at, cell in enumerate(row) if cell.strip()})
    gaps = [after for before, after in pairwise(columns) if after > before + 1]
    start = 0
    for at, end in zip(gaps, [*gaps[1:], None], strict=False):
        if _stands_alone([row[start:at] for _, row in block], [row[at:end] for _, row in block]):
            yield [(number, row[start:at]) for number, row in block if any(row[start:at])]
            start = at
    yield [(number, row[start:]) for number, row in block if any(row[start:])] if start else block


def _stands_alone(left: list[Row], right: list[Row]) -> bool:
    """Return whether the columns on the right are a separate table: with names, and other rows, or keys."""
    tables = [full[split_titles(full) :] for full in map(_trim, (left, right))]
    if not all(len(each) > 1 and len(each[0]) > 1 and has_names(each) for each in tables):
        return False
    names, *rows = tables[1]
    keys = [row[0] for row in rows]
    is_keyed = all(key[:1].isalpha() for key in keys) and len(set(keys)) == len(keys)
    is_whole = all(sum(filled for filled, _ in groupby(map(any, each))) == 1 for each in (left, right))
    return is_keyed or names[0] in tables[0][0] or (is_whole and len(tables[0]) != len(tables[1]))


def _trim(rows: Iterable[Row]) -> list[list[str]]:
    """Return rows of one length, without those and the columns that are empty."""
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    width = max(map(len, kept), default=0)
    full = [[*row, *[""] * (width - len(row))] for row in kept]
    used = [column for column in range(width) if any(row[column].strip() for row in full)]
    return [[row[column] for column in used] for row in full]


def has_names(rows: Sequence[Row]) -> bool:
    """Return whether the first row may be column names: they stand above numbers, or are none of these themselves.

    Nor are they sentences, long texts, or identifiers as that below the first one.
    """
    first = rows[0] if rows else [""]
    if _is_sparse(rows):
        return False
    if not first[0] or _is_above_numbers(rows):
        return True
    shapes = [re.sub(r"\d", "0", row[0]) for row in rows[:2]]
    is_listed = len(shapes) == 2 and shapes[0] == shapes[1] and "0" in shapes[0]
    return not (is_listed or _NUMERAL.fullmatch(first[0]) or any(_NO_NAME.fullmatch(cell) for cell in first))


def _is_above_numbers(rows: Sequence[Row]) -> bool:
    """Return whether the first row has no number, but a column below one of its cells has only numbers."""
    columns = [(name, list(filter(None, cells))) for name, *cells in zip_longest(*rows[:_ROWS_COMPARED], fillvalue="")]
    below = any(name and cells and all(map(_NUMERAL.fullmatch, cells)) for name, cells in columns)
    return below and not any(_PLAIN_NUMBER.fullmatch(name) for name, _ in columns)


def _has_groups(rows: Sequence[Row]) -> bool:
    """Return whether the names in the first row are those of groups, whose columns have theirs in the second."""
    if len(rows) < 3:
        return False
    (key, *groups), (below, *names) = rows[:2]
    return (
        bool(key and rows[2][0])
        and not below
        and "" in groups
        and all(names)
        and not any(map(_PLAIN_NUMBER.fullmatch, names))
    )


def split_titles(rows: Sequence[Row]) -> int:
    """Count the rows above a table that are its titles, as they have one cell or a few far apart, or are empty."""
    first = rows[: _MOST_TITLES + 1]
    return next((at for at, row in enumerate(first) if sum(map(bool, row)) > 1 and not _is_sparse(first[at:])), 0)


def _is_sparse(rows: Sequence[Row]) -> bool:
    """Return whether the first row has a cell at its beginning and others far from it, above a row with many."""
    (at_first, filled), (_, below) = (
        (bool(row and row[0]), [at for at, cell in enumerate(row) if cell]) for row in (*rows[:2], *[()] * 2)[:2]
    )
    return at_first and 0 in below and len(filled) <= filled[-1] and 2 * len(filled) <= len(below)


def read_entry(archive: ZipFile, name: str) -> bytes:
    """Return a file of an archive; empty if it has none of this name."""
    try:
        return archive.read(name)
    except KeyError:
        return b""


def read_xml(archive: ZipFile, name: str) -> Any:
    """Return the root of an XML file of an archive; an empty element if it has none of this name."""
    return parse_xml(read_entry(archive, name) or b"<none/>")


def read_related(archive: ZipFile, part: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the id, the kind and the name of each part of an Office file that one refers to, or the file itself."""
    folder, name = posixpath.split(part)
    for each in read_xml(archive, posixpath.join(folder, "_rels", f"{name}.rels")).iterchildren("*"):
        place = posixpath.normpath(posixpath.join("/", folder, each.get("Target", ""))).lstrip("/")
        yield each.get("Id", ""), each.get("Type", "").rpartition("/")[2], place


def read_paragraphs(drawing: Any) -> Iterator[Element]:
    """Yield the paragraphs of a drawing, each as a text."""
    for paragraph in drawing.iter("{*}p"):
        if text := tidy("".join(each.text or "" for each in paragraph.iter("{*}t"))):
            yield Element("text", text)


def parse_xml(content: bytes) -> Any:
    """Parse XML without entities, DTDs and network; SyntaxError if it is none."""
    etree: Any = import_module("lxml.etree")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    return etree.fromstring(content, parser)
