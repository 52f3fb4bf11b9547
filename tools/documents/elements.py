"""Document elements, and helpers shared by the document readers."""

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
_MAX_TITLE_ROWS, _ROWS_COMPARED = 8, 100
_NUMERAL = re.compile(r"\(?[+\-\u2212]?[$€£]?\s?[\d.,'\s]*\d\s?[%€$£]?\)?")
_PLAIN_NUMBER = re.compile(rf"(?!(?:19|20)\d\d$){_NUMERAL.pattern}")  # not a year
_NOT_A_NAME = re.compile(rf".{{61,}}|{_PLAIN_NUMBER.pattern}|.*\w \w.*[.!]", re.DOTALL)
_RAISED, _LOWERED = (
    dict(zip("0123456789+-\u2212=()in", characters, strict=True))
    for characters in ("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁱⁿ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ᵢₙ")
)
_MAX_LETTERED = 3999  # larger numbers would need very long marks
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_REPLACEMENTS = dict(zip("\uf0b7\uf0a7\uf0d8\uf0e0\uf0fc\uf06f\uf0a8\uf0fe", "•▪▸→✓☐☐☒", strict=True)) | dict(
    zip("\ufb00\ufb01\ufb02\ufb03\ufb04", ("ff", "fi", "fl", "ffi", "ffl"), strict=True)
)
_REPLACED = re.compile(f"[\xad\u200b\ufeff{''.join(_REPLACEMENTS)}]")
"""Bullets and boxes of symbol fonts, ligatures, and invisible characters."""


class UnreadableFileError(ValueError):
    """A document cannot be read; the message says why. Other documents of the same folder are still read."""


class Element(NamedTuple):
    """A block of a document, e.g. a heading, a paragraph or a table."""

    kind: Literal["heading", "text", "item", "code", "table", "page", "sheet"]
    """`page` (or slide) and `sheet` mark where one starts; `item` is a list item, including its marker."""
    text: str = ""
    number: int = 0
    """Heading level, page number, first row of a table, or line in a plain text file; all from 1."""
    rows: Sequence[Row] = ()
    """Rows of a table; the first is the header row, with empty cells if the table has none."""
    links: Sequence[tuple[str, str]] = ()
    """Text and relative URL of each link to another document."""
    mark: str = ""
    """Number of a heading, e.g. `4.2`, shown before it in heading paths; file suffix of source code."""


@dataclass
class Document:
    """The content of a document."""

    elements: list[Element] = field(default_factory=list[Element])
    title: str = ""
    """Empty if the document states none."""
    notes: list[str] = field(default_factory=list[str])
    """Messages about parts that were not read."""


def tidy(text: str) -> str:
    """Normalize white space, and drop soft hyphens, other invisible characters, and line breaks within Chinese."""
    if not text.isascii():
        text = _REPLACED.sub(lambda each: _REPLACEMENTS.get(each[0], ""), CHINESE_BREAK.sub("", text))
    return " ".join(text.split())


def super_or_subscript(text: str, *, raised: bool) -> str:
    """Convert digits, signs, `i` and `n` to Unicode superscripts or subscripts; return any other text unchanged."""
    characters = _RAISED if raised else _LOWERED
    return "".join(map(characters.__getitem__, text)) if characters.keys() >= set(text) else text


def format_number(number: int, form: str) -> str:
    """Format a list number in one of Word's formats (`lowerLetter`, `upperRoman`, …); decimal for any other."""
    mark = str(number)
    if form.endswith("Letter") and number <= _MAX_LETTERED:
        mark = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif form.endswith("Roman") and number <= _MAX_LETTERED:
        mark, rest = "", number
        for value, letters in _ROMAN:
            mark += letters * (rest // value)
            rest %= value
    return mark.upper() if form.startswith("upper") else mark


def join_text(elements: Iterable[Element]) -> str:
    """Return the text of all elements on one line."""
    return tidy(" ".join(each.text or " ".join(" ".join(row) for row in each.rows) for each in elements))


def format_table(rows: Sequence[Row]) -> str:
    """Format rows as a Markdown table; the header row and its delimiter row are omitted if all its cells are empty."""
    header, *body = [f"| {' | '.join(tidy(cell) for cell in row)} |" for row in rows]
    delimiter = f"|{'---|' * len(rows[0])}"
    return "\n".join([header, delimiter, *body] if any(cell.strip() for cell in rows[0]) else body)


def make_table(rows: Iterable[Row], number: int = 0, *, header_rows: int | None = None) -> Iterator[Element]:
    """Yield a table without its empty rows and columns; a single row or column is yielded as text.

    The first `header_rows` rows are merged into one header row. By default, `has_header` decides if there is one.
    """
    full = _trim(rows)
    if len(full) == 1 or (full and len(full[0]) == 1):
        yield from (Element("text", tidy(" ".join(row)), number and number + at) for at, row in enumerate(full))
    elif full:
        if header_rows is None or header_rows >= len(full):
            header_rows = int(has_header(full))
        for row in full[: max(header_rows - 1, 0)]:  # repeat names that span several columns
            row[1:] = accumulate(row[1:], lambda before, name: name or before)
        names = [tidy(" ".join(dict.fromkeys(cells))) for cells in zip(*full[:header_rows], strict=True)]
        first = number and number + max(header_rows - 1, 0)
        yield Element("table", number=first, rows=[names or [""] * len(full[0]), *full[header_rows:]])


def make_note(number: int, row: Row, at: int, text: str) -> Element:
    """Return a note on a cell as text, with the row's first non-empty cell and the cell itself."""
    key = next(filter(str.strip, row), "")
    about = ", ".join(dict.fromkeys(tidy(cell) for cell in (key, *row[at : at + 1]) if cell.strip()))
    return Element("text", f"Note{about and f' on {about}'}: {tidy(text)}", number)


def make_tables(rows: Iterable[tuple[int, Row]], merged_rows: Collection[int] = ()) -> Iterator[Element]:
    """Yield the tables of a sheet, given as numbered rows, each after its title rows as text.

    Tables are separated by empty rows, unless the next block continues under the same header, and by empty columns
    if a complete table follows. `merged_rows` are the rows with cells that span several columns.
    """
    header, used, held = list[Row](), set[int](), list[Element]()
    blocks = groupby(rows, lambda each: not any(map(str.strip, each[1])))
    for block in (each for is_empty, rows in blocks if not is_empty for each in _split_columns(list(rows))):
        titles = count_title_rows([row for _, row in block])
        texts = [Element("text", tidy(" ".join(row)), number) for number, row in block[:titles]]
        body = [row for _, row in block[titles:]]
        if not body:
            continue
        first, trimmed = block[titles][0], _trim(body)
        columns = {at for row in body for at, cell in enumerate(row) if cell.strip()}
        is_headed = has_header(trimmed)
        if header and len(columns) > 1 and columns <= used and not is_headed:
            yield from texts
            yield from make_table([*header, *body], first - len(header), header_rows=len(header))
            held = []
            continue
        yield from (*held, *texts)
        header_rows = next(count for count in range(1, len(body) + 2) if first + count - 1 not in merged_rows)
        header_rows = 2 if header_rows == 1 and _has_column_groups(trimmed) else header_rows
        found = list(make_table(body, first, header_rows=header_rows if header_rows > 1 else None))
        if len(columns) > 1:
            header, used = body[:header_rows] if header_rows > 1 or is_headed else [], columns
        held = found if header and len(body) == 1 < len(columns) else []  # may be a header above an empty row
        yield from () if held else found
    yield from held


def _split_columns(block: list[tuple[int, Row]]) -> Iterator[list[tuple[int, Row]]]:
    """Split a block into the tables that stand side by side in it."""
    columns = sorted({at for _, row in block for at, cell in enumerate(row) if cell.strip()})
    gaps = [after for before, after in pairwise(columns) if after > before + 1]
    start = 0
    for at, end in zip(gaps, [*gaps[1:], None], strict=False):
        if _is_separate_table([row[start:at] for _, row in block], [row[at:end] for _, row in block]):
            yield [(number, row[start:at]) for number, row in block if any(row[start:at])]
            start = at
    yield [(number, row[start:]) for number, row in block if any(row[start:])] if start else block


def _is_separate_table(left: list[Row], right: list[Row]) -> bool:
    """Return whether the columns on the right are a table: both have a header, and different rows or unique keys."""
    tables = [full[count_title_rows(full) :] for full in map(_trim, (left, right))]
    if not all(len(each) > 1 and len(each[0]) > 1 and has_header(each) for each in tables):
        return False
    names, *rows = tables[1]
    keys = [row[0] for row in rows]
    is_keyed = all(key[:1].isalpha() for key in keys) and len(set(keys)) == len(keys)
    is_whole = all(sum(filled for filled, _ in groupby(map(any, each))) == 1 for each in (left, right))
    return is_keyed or names[0] in tables[0][0] or (is_whole and len(tables[0]) != len(tables[1]))


def _trim(rows: Iterable[Row]) -> list[list[str]]:
    """Drop empty rows and columns, and pad the rows to equal length."""
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    width = max(map(len, kept), default=0)
    full = [[*row, *[""] * (width - len(row))] for row in kept]
    used = [column for column in range(width) if any(row[column].strip() for row in full)]
    return [[row[column] for column in used] for row in full]


def has_header(rows: Sequence[Row]) -> bool:
    """Return whether the first row looks like a header: names above numbers, or short names without numbers.

    Sentences are not names, nor is a first cell with the same pattern as the one below it, e.g. `A-1` and `A-2`.
    """
    first = rows[0] if rows else [""]
    if _is_sparse(rows):
        return False
    if not first[0] or _is_above_numbers(rows):
        return True
    shapes = [re.sub(r"\d", "0", row[0]) for row in rows[:2]]
    is_numbered = len(shapes) == 2 and shapes[0] == shapes[1] and "0" in shapes[0]
    return not (is_numbered or _NUMERAL.fullmatch(first[0]) or any(_NOT_A_NAME.fullmatch(cell) for cell in first))


def _is_above_numbers(rows: Sequence[Row]) -> bool:
    """Return whether the first row has no numbers, but some column below it has only numbers."""
    columns = [(name, list(filter(None, cells))) for name, *cells in zip_longest(*rows[:_ROWS_COMPARED], fillvalue="")]
    below = any(name and cells and all(map(_NUMERAL.fullmatch, cells)) for name, cells in columns)
    return below and not any(_PLAIN_NUMBER.fullmatch(name) for name, _ in columns)


def _has_column_groups(rows: Sequence[Row]) -> bool:
    """Return whether the first row names groups of columns, and the second the columns in them."""
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


def count_title_rows(rows: Sequence[Row]) -> int:
    """Count the rows above a table that are empty, or have one cell or a few far apart."""
    first = rows[: _MAX_TITLE_ROWS + 1]
    return next((at for at, row in enumerate(first) if sum(map(bool, row)) > 1 and not _is_sparse(first[at:])), 0)


def _is_sparse(rows: Sequence[Row]) -> bool:
    """Return whether the first row has few cells, the first one and others after gaps, above a much fuller row."""
    (at_first, filled), (_, below) = (
        (bool(row and row[0]), [at for at, cell in enumerate(row) if cell]) for row in (*rows[:2], *[()] * 2)[:2]
    )
    return at_first and 0 in below and len(filled) <= filled[-1] and 2 * len(filled) <= len(below)


def read_entry(archive: ZipFile, name: str) -> bytes:
    """Return the content of a file in an archive; empty if it is missing."""
    try:
        return archive.read(name)
    except KeyError:
        return b""


def read_xml(archive: ZipFile, name: str) -> Any:
    """Return the root of an XML file in an archive; an empty element if it is missing."""
    return parse_xml(read_entry(archive, name) or b"<none/>")


def read_related(archive: ZipFile, part: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield id, type and path of each part that a part of an Office file refers to; of the whole file by default."""
    folder, name = posixpath.split(part)
    for each in read_xml(archive, posixpath.join(folder, "_rels", f"{name}.rels")).iterchildren("*"):
        place = posixpath.normpath(posixpath.join("/", folder, each.get("Target", ""))).lstrip("/")
        yield each.get("Id", ""), each.get("Type", "").rpartition("/")[2], place


def read_paragraphs(drawing: Any) -> Iterator[Element]:
    """Yield the non-empty paragraphs of a drawing as text."""
    for paragraph in drawing.iter("{*}p"):
        if text := tidy("".join(each.text or "" for each in paragraph.iter("{*}t"))):
            yield Element("text", text)


def parse_xml(content: bytes) -> Any:
    """Parse XML without entities, DTDs or network access; raises SyntaxError if it is malformed."""
    etree: Any = import_module("lxml.etree")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    return etree.fromstring(content, parser)
