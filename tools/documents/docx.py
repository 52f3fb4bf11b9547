"""DOCX as elements: its paragraphs, lists and tables in their order, by their styles."""

import posixpath
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZipFile

from hopgraph.tools.documents.elements import Document, Element, make_table, parse_xml, read_entry, tidy
from hopgraph.tools.documents.html import read_html

_MAIN = "word/document.xml"
_SPACES = frozenset({"tab", "br", "cr", "ptab"})
_DROPPED = frozenset(
    {"del", "moveFrom", "instrText", "delText", "rPr", "pPr", "Fallback", "txbxContent", "pict", "annotationRef"}
)
"""Elements that are deleted, hidden in fields, or read separately."""


_LARGEST_IN_LETTERS = 3999  # larger numbers would be as long as texts
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


class _Style(NamedTuple):
    level: int = 0
    """Level of a heading, from 1; 0 for other paragraphs."""
    numbering: tuple[str, int] | None = None
    """The list that its paragraphs are items of, and their depth."""


def read_docx(file: BinaryIO) -> Document:
    """Read a DOCX as it would be printed, without what changes deleted; page headers and footers once, at its start.

    The paragraph in the style Title is its title. Formulas are their letters in their order.
    """
    with ZipFile(file) as archive:
        reader = _Reader(archive)
        root = parse_xml(read_entry(archive, _MAIN) or read_entry(archive, reader.main) or b"<none/>")
        found = [each for body in root for each in reader.read(body)]
        notes = [each for name in ("footnotes", "endnotes") for each in reader.read_part(f"word/{name}.xml")]
        names = sorted(each for each in archive.namelist() if each.startswith(("word/header", "word/footer")))
        margins = dict.fromkeys(each.text for name in names for each in reader.read_part(name))
    title = next((each.text for each in found if (each.kind, each.number) == ("heading", 1)), "")
    return Document([*(Element("text", text) for text in margins if len(text) > 3), *found, *notes], title)


def _name(node: Any) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _child(node: Any, *names: str) -> Any:
    for name in names:
        node = node.find(f"{{*}}{name}") if node is not None else None
    return node


def _value(node: Any, *names: str) -> str:
    found = _child(node, *names)
    return "" if found is None else next((value for key, value in found.items() if key.endswith("}val")), "1")


class _Reader:
    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        relations = parse_xml(read_entry(archive, "_rels/.rels") or b"<none/>")
        targets = [each.get("Target", "") for each in relations if each.get("Type", "").endswith("/officeDocument")]
        self.main = next(iter(targets), _MAIN).lstrip("/")
        self._styles = self._read_styles()
        self._numbers = self._read_numbering()
        self._counts = Counter[tuple[str, int]]()

    def read_part(self, name: str) -> list[Element]:
        """Read another part of the document; nothing if there is none."""
        content = read_entry(self._archive, name)
        return list(self.read(parse_xml(content))) if content and name.endswith(".xml") else []

    def read(self, node: Any) -> Iterator[Element]:
        """Yield the elements below a node."""
        for child in node:
            name = _name(child)
            if name == "p":
                yield from self._paragraph(child)
            elif name == "tbl":
                yield from self._table(child)
            elif name == "altChunk":
                yield from self._chunk(child)
            elif name not in _DROPPED:
                yield from self.read(child)

    def _paragraph(self, node: Any) -> Iterator[Element]:
        style = self._styles.get(_value(node, "pPr", "pStyle"), _Style())
        outline = _value(node, "pPr", "outlineLvl")
        level = int(outline) + 2 if outline.isdecimal() and int(outline) < 9 else style.level
        text = tidy("".join(_texts(node)))
        if text and level:
            yield Element("heading", text, level)
        elif text:
            numbering = self._numbering(node, style)
            yield Element("item", f"{self._mark(*numbering)} {text}") if numbering else Element("text", text)
        for box in _text_boxes(node):
            yield from self.read(box)

    def _numbering(self, node: Any, style: _Style) -> tuple[str, int] | None:
        number, depth = _value(node, "pPr", "numPr", "numId"), _value(node, "pPr", "numPr", "ilvl")
        if number == "0":
            return None
        return (number, int(depth) if depth.isdecimal() else 0) if number else style.numbering

    def _mark(self, number: str, depth: int) -> str:
        form, start = self._numbers.get((number, depth), ("bullet", 1))
        self._counts[number, depth] += 1
        for deeper in range(depth + 1, 9):
            self._counts[number, deeper] = 0
        return f"{'  ' * depth}{_write_number(self._counts[number, depth] + start - 1, form)}"

    def _table(self, node: Any) -> Iterator[Element]:
        lines = [each for each in node.iter("{*}tr") if _table_of(each) is node]
        cells = [[each for each in line.iter("{*}tc") if _row_of(each) is line] for line in lines]
        if all(len(line) == 1 for line in cells):  # a frame
            for line in cells:
                yield from self.read(line[0])
            return
        rows, heads = list[list[str]](), 1
        for line in cells:
            row, is_wide = list[str](), False
            for cell in line:
                above = rows[-1][len(row)] if rows and len(rows[-1]) > len(row) else ""
                merge = _child(cell, "tcPr", "vMerge")
                goes_on = merge is not None and _value(cell, "tcPr", "vMerge") != "restart"
                row.append(above if goes_on else self._cell(cell))
                width = _value(cell, "tcPr", "gridSpan")
                row += [""] * (min(int(width), 100) - 1 if width.isdecimal() else 0)
                is_wide = is_wide or width not in ("", "1")
            rows.append(row)
            heads += is_wide and len(line) > 1 and heads == len(rows)
        yield from make_table(rows, heads=heads if heads > 1 else None)

    def _cell(self, cell: Any) -> str:
        return tidy(" ".join(each.text or " ".join(" ".join(row) for row in each.rows) for each in self.read(cell)))

    def _chunk(self, node: Any) -> Iterator[Element]:
        """Read a page of HTML that the document embeds."""
        key = next((value for name, value in node.items() if name.endswith("}id")), "")
        place = self._targets.get(key, "")
        content = read_entry(self._archive, posixpath.normpath(posixpath.join("word", place)).lstrip("/"))
        yield from read_html(content.decode("utf-8", "replace")).elements

    @cached_property
    def _targets(self) -> dict[str, str]:
        relations = parse_xml(read_entry(self._archive, "word/_rels/document.xml.rels") or b"<none/>")
        return {each.get("Id", ""): each.get("Target", "") for each in relations}

    def _read_styles(self) -> dict[str, _Style]:
        root = parse_xml(read_entry(self._archive, "word/styles.xml") or b"<none/>")
        nodes = {_attribute(each, "styleId"): each for each in root.iter("{*}style")}
        return {key: self._style(nodes, key) for key in nodes}

    def _style(self, nodes: dict[str, Any], key: str) -> _Style:
        level, numbering = 0, None
        for _ in range(20):
            if (node := nodes.get(key)) is None:
                break
            name, outline = _value(node, "name").lower(), _value(node, "pPr", "outlineLvl")
            if not level and name == "title":
                level = 1
            elif not level and name.startswith("heading ") and name[8:].isdecimal():
                level = int(name[8:]) + 1
            elif not level and outline.isdecimal() and int(outline) < 9:
                level = int(outline) + 2
            number, depth = _value(node, "pPr", "numPr", "numId"), _value(node, "pPr", "numPr", "ilvl")
            if number and numbering is None:
                numbering = number, int(depth) if depth.isdecimal() else 0
            key = _value(node, "basedOn")
        return _Style(min(level, 9), None if numbering and numbering[0] == "0" else numbering)

    def _read_numbering(self) -> dict[tuple[str, int], tuple[str, int]]:
        root = parse_xml(read_entry(self._archive, "word/numbering.xml") or b"<none/>")
        forms = dict[str, list[tuple[int, str, int]]]()
        for each in root.iter("{*}abstractNum"):
            levels = list[tuple[int, str, int]]()
            for depth, level in enumerate(each.iter("{*}lvl")):
                start = _value(level, "start")
                levels.append((depth, _value(level, "numFmt"), int(start) if start.isdecimal() else 1))
            forms[_attribute(each, "abstractNumId")] = levels
        return {
            (_attribute(each, "numId"), depth): (form, start)
            for each in root.iter("{*}num")
            for depth, form, start in forms.get(_value(each, "abstractNumId"), ())
        }


def _write_number(number: int, form: str) -> str:
    if form in ("bullet", "none"):
        return "-"
    if number > _LARGEST_IN_LETTERS:
        mark = str(number)
    elif form.endswith("Letter"):
        mark = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif form.endswith("Roman"):
        mark, rest = "", number
        for value, letters in _ROMAN:
            mark += letters * (rest // value)
            rest %= value
    else:
        mark = str(number)
    return f"{mark.upper() if form.startswith('upper') else mark}."


def _attribute(node: Any, name: str) -> str:
    return next((value for key, value in node.items() if key.rpartition("}")[2] == name), "")


def _texts(node: Any) -> Iterator[str]:
    """Yield the letters of a paragraph: its runs, links and formulas, without text boxes and what is not shown."""
    for child in node:
        name = _name(child)
        if name == "t":
            yield child.text or ""
        elif name in _SPACES:
            yield " "
        elif name == "noBreakHyphen":
            yield "-"
        elif name == "oMath":
            yield " "
            yield from _texts(child)
            yield " "
        elif name == "r" and _child(child, "rPr", "vanish") is not None:
            continue
        elif name not in _DROPPED:
            yield from _texts(child)


def _text_boxes(node: Any) -> Iterator[Any]:
    for box in node.iter("{*}txbxContent"):
        inside = [_name(each) for each in box.iterancestors()]
        inside = inside[: inside.index("p")]
        if "Fallback" not in inside:  # the same for older programs
            yield box


def _table_of(node: Any) -> Any:
    return next(node.iterancestors("{*}tbl"), None)


def _row_of(node: Any) -> Any:
    return next(node.iterancestors("{*}tr"), None)
