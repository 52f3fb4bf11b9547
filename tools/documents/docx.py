"""Read DOCX: paragraphs, headings, lists, tables, charts, notes and formulas."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from itertools import chain
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZipFile

from hopgraph.tools.documents.elements import (
    Document,
    Element,
    format_number,
    join_text,
    make_table,
    read_entry,
    read_paragraphs,
    read_related,
    read_xml,
    super_or_subscript,
    tidy,
)
from hopgraph.tools.documents.html import read_page
from hopgraph.tools.documents.spreadsheet import format_value


def read_chart(chart: Any) -> Iterator[Element]:
    """Yield the title of a chart, and a table of its cached values with one column per series."""
    for title in chart.iter("{*}title"):
        if title.getparent().tag.endswith("}chart"):
            yield from read_paragraphs(title)
    series = list(chart.iter("{*}ser"))
    labels, columns = dict[int, str](), list[dict[int, str]]()
    for each in series:
        labels = _points(each, "cat", "xVal") | labels
        columns.append(_points(each, "val", "yVal"))
    names = ["", *(" ".join(_points(each, "tx").values()) for each in series)]
    rows = sorted(set(labels).union(*columns))
    yield from make_table([names, *([labels.get(at, ""), *(each.get(at, "") for each in columns)] for at in rows)])


def _points(series: Any, *names: str) -> dict[int, str]:
    """Return index → value of the points of a series in child elements with these names."""
    found = dict[int, str]()
    for child in series:
        if child.tag.rpartition("}")[2] in names:
            form = next((each.text for each in child.iter("{*}formatCode")), None) or "General"
            for point in child.iter("{*}pt"):
                value = "".join(each.text or "" for each in point.iter("{*}v"))
                found.setdefault(int(point.get("idx", 0)), _format_value(value, form))
    return found


def _format_value(value: str, form: str) -> str:
    dates: Any = import_module("openpyxl.utils.datetime")
    numbers: Any = import_module("openpyxl.styles.numbers")
    try:
        number = float(value)
        return format_value(dates.from_excel(number) if numbers.is_date_format(form) else number, form)
    except (ValueError, OverflowError):
        return tidy(value)


_MAIN = "word/document.xml"
_MARGINS = ("word/header", "word/footer")
_CONTENTS_STYLES = ("toc ", "table of figures")
"""Prefixes of the styles of tables of contents, figures and tables."""
_DROPPED = frozenset(
    {"del", "moveFrom", "instrText", "delText", "rPr", "pPr", "rt", "Fallback", "txbxContent", "pict", "annotationRef"}
)
"""Elements that are deleted, belong to fields, or are read separately."""
# ruff: noqa: RUF001 - mathematical signs
_SYMBOLS = {
    "Symbol": dict(
        zip(
            (0x22, 0x24, 0x2D, *range(0x40, 0x7F), *range(0xA0, 0xE2), 0xE5, 0xF2),
            "∀∃−≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
            "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨∑∫",
            strict=True,
        )
    ),
    "Wingdings": dict(zip(b"\x6f\xa8\xdf\xe0\xfb\xfc\xfd\xfe", "☐☐←→✗✓☒☑", strict=True)),
}
"""Symbol font → code → Unicode character."""
_LEVEL_NUMBER = re.compile(r"%(\d)")
"""Placeholder for the number of a level, from 1, in a marker."""


class _Level(NamedTuple):
    form: str = "bullet"
    start: int = 1
    text: str = ""
    """Template of its markers, e.g. `%1.%2`."""


class _List(NamedTuple):
    counter: str
    """Lists with the same counter share their numbering."""
    levels: Sequence[_Level]
    restarts: dict[int, int]
    """Depth → number of the next item, removed once used."""

    def level(self, depth: int) -> _Level:
        """Return the level at a depth, from 0 for the outermost; bullets if it is not defined."""
        return self.levels[depth] if depth < len(self.levels) else _Level()


class _Style(NamedTuple):
    level: int = 0
    """Heading level, from 1; 0 for other paragraphs, -1 for entries of a table of contents."""
    numbering: tuple[str, int] | None = None
    """Id of the list that its paragraphs belong to, and their depth."""


def read_docx(file: BinaryIO) -> Document:
    """Read a DOCX with tracked changes accepted; page headers and footers come first, once.

    The first paragraph in the style Title is the title. Formulas are read as linear text.
    """
    with ZipFile(file) as archive:
        reader = _Reader(archive)
        found = [each for body in read_xml(archive, reader.main) for each in reader.read(body)]
        names = sorted(name for name in archive.namelist() if name.startswith(_MARGINS) and name.endswith(".xml"))
        margins = dict.fromkeys(join_text([each]) for name in names for each in reader.read(read_xml(archive, name)))
    title = next((each.text for each in found if (each.kind, each.number) == ("heading", 1)), "")
    return Document([*(Element("text", text) for text in margins if len(text) > 3), *found], title)


def _name(node: Any) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _child(node: Any, *names: str) -> Any:
    for name in names:
        node = node.find(f"{{*}}{name}") if node is not None else None
    return node


def _value(node: Any, *names: str) -> str:
    found = _child(node, *names)
    return "" if found is None else next((value for key, value in found.items() if key.endswith("}val")), "1")


def _is_on(node: Any, *names: str) -> bool:
    return _value(node, *names) not in ("", "0", "false", "off")


def _integer(node: Any, *names: str, default: int = 0) -> int:
    value = _value(node, *names)
    return min(int(value), 10**6) if value.isdecimal() else default


def _outline_level(node: Any) -> int:
    level = _integer(node, "pPr", "outlineLvl", default=9)
    return level + 2 if level < 9 else 0


class _Reader:
    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self.main = next((part for _, kind, part in read_related(archive) if kind == "officeDocument"), _MAIN)
        self._styles = self._read_styles()
        self._lists = self._read_lists()
        notes = (each for kind in ("foot", "end") for each in read_xml(archive, f"word/{kind}notes.xml"))
        self._notes = {f"{_name(each)} {_attribute(each, 'id')}": each for each in notes}
        self._counters = dict[str, dict[int, int]]()
        self._carried = ""

    def read(self, node: Any) -> Iterator[Element]:
        """Yield the elements of a body, cell, text box or note."""
        outer, self._carried = self._carried, ""
        yield from self._children(node)
        yield from self._flush()
        self._carried = outer

    def _flush(self) -> Iterator[Element]:
        """Yield the text of a paragraph with a deleted end that no other paragraph follows."""
        text, self._carried = self._carried.strip(), ""
        yield from [Element("text", text)] if text else ()

    def _children(self, node: Any) -> Iterator[Element]:
        for child in node:
            name = _name(child)
            if name == "p":
                yield from self._paragraph(child)
            elif name == "tbl":
                yield from self._flush()
                yield from self._table(child)
            elif name == "altChunk":
                embedded = self._pop_part(_attribute(child, "id"))  # an HTML page
                yield from read_page(read_entry(self._archive, embedded)).elements
            elif name not in _DROPPED:
                yield from self._children(child)
            if name in ("p", "tbl") and next(child.iterancestors("{*}p", "{*}tbl"), None) is None:
                yield from self._anchored(child)

    def _anchored(self, node: Any) -> Iterator[Element]:
        """Yield the text boxes, notes, charts and diagrams anchored in a paragraph or table, each once."""
        kinds = ("txbxContent", "footnoteReference", "endnoteReference", "chart", "relIds")
        for each in node.iter(*(f"{{*}}{kind}" for kind in kinds)):
            name = _name(each)
            if next(each.iterancestors("{*}Fallback"), None) is not None:  # a copy for older programs
                continue
            if name == "txbxContent":
                yield from self.read(each)
            elif name == "chart":
                yield from read_chart(read_xml(self._archive, self._pop_part(_attribute(each, "id"))))
            elif name == "relIds":
                yield from self.read(read_xml(self._archive, self._pop_part(_attribute(each, "dm"))))
            else:
                yield from self.read(self._notes.pop(f"{name.removesuffix('Reference')} {_attribute(each, 'id')}", ()))

    def _paragraph(self, node: Any) -> Iterator[Element]:
        style = self._styles.get(_value(node, "pPr", "pStyle"), _Style())
        if style.level < 0:
            return
        level = _outline_level(node) or style.level
        text = self._carried + paragraph_text(node)
        self._carried = f"{text} " if text and _child(node, "pPr", "rPr", "del") is not None else ""
        if self._carried:  # its end is deleted, so it continues in the next paragraph
            return
        numbering = self._numbering(node, style) if text else None
        mark = self._marker(*numbering) if numbering else ""
        if text and level:
            yield Element("heading", text, level, mark=mark.strip(" -"))
        elif text:
            yield Element("item", f"{mark} {text}") if numbering else Element("text", text)

    def _numbering(self, node: Any, style: _Style) -> tuple[str, int] | None:
        number = _value(node, "pPr", "numPr", "numId")
        own = (number, _integer(node, "pPr", "numPr", "ilvl")) if number else style.numbering
        return None if number == "0" else own

    def _marker(self, number: str, depth: int) -> str:
        """Count a list item and return its indented marker."""
        list_ = self._lists.get(number, _List(number, (), {}))
        numbers = self._counters.setdefault(list_.counter, {})
        if (restart := list_.restarts.pop(depth, None)) is not None:
            numbers[depth] = restart
        else:
            numbers[depth] = numbers[depth] + 1 if depth in numbers else list_.level(depth).start
        for deeper in [each for each in numbers if each > depth]:
            del numbers[deeper]

        def fill(placeholder: re.Match[str]) -> str:
            level = list_.level(at := int(placeholder[1]) - 1)
            return format_number(numbers.get(at, level.start), level.form)

        level = list_.level(depth)
        mark = "-" if level.form == "bullet" else _LEVEL_NUMBER.sub(fill, level.text)
        return f"{'  ' * depth}{mark}"

    def _table(self, node: Any) -> Iterator[Element]:
        trs = [each for each in node.iter("{*}tr") if next(each.iterancestors("{*}tbl")) is node]
        cells = [[each for each in tr.iter("{*}tc") if next(each.iterancestors("{*}tr")) is tr] for tr in trs]
        is_layout = len(cells) == 1 and any(len(each.findall("{*}p")) > 1 for each in cells[0])
        if is_layout or all(len(each) == 1 for each in cells):  # a frame around text
            for cell in chain.from_iterable(cells):
                yield from self.read(cell)
            return
        rows, merged = list[list[str]](), 1
        declared = next((at for at, tr in enumerate(trs) if not _is_on(tr, "trPr", "tblHeader")), 0)
        for tr, tcs in zip(trs, cells, strict=True):
            row, is_wide, is_new = [""] * _integer(tr, "trPr", "gridBefore"), False, False
            for cell in tcs:
                above = rows[-1][len(row)] if rows and len(rows[-1]) > len(row) else ""
                merge = _child(cell, "tcPr", "vMerge")
                is_merged = merge is not None and _value(cell, "tcPr", "vMerge") != "restart"
                row.append(above if is_merged else join_text(self.read(cell)))
                is_new = is_new or bool(row[-1] and not is_merged)
                width = _integer(cell, "tcPr", "gridSpan")
                row += [""] * (width - 1)
                is_wide = is_wide or width > 1
            if is_new:  # not only cells merged with those above
                rows.append(row)
                merged += is_wide and len(tcs) > 1 and merged == len(rows)
        yield from make_table(rows, header_rows=max(merged, declared) if merged > 1 or declared else None)

    def _pop_part(self, identity: str) -> str:
        """Return the path of a related part the first time, then an empty string."""
        return self._related.pop(identity, "")

    @cached_property
    def _related(self) -> dict[str, str]:
        return {key: part for key, _, part in read_related(self._archive, self.main)}

    def _read_styles(self) -> dict[str, _Style]:
        root = read_xml(self._archive, "word/styles.xml")
        nodes = {_attribute(each, "styleId"): each for each in root.iter("{*}style")}
        return {key: self._style(nodes, key) for key in nodes}

    def _style(self, nodes: dict[str, Any], key: str) -> _Style:
        level, numbering, depth = 0, None, ""
        for _ in range(20):
            if (node := nodes.get(key)) is None:
                break
            name = _value(node, "name").lower()
            heading = name.removeprefix("heading ") if name.startswith("heading ") else "0" * (name == "title")
            listed = -name.startswith(_CONTENTS_STYLES)
            level = level or listed or (int(heading) + 1 if heading.isdecimal() else _outline_level(node))
            number, depth = _value(node, "pPr", "numPr", "numId"), depth or _value(node, "pPr", "numPr", "ilvl")
            if number and numbering is None:
                numbering = number, int(depth) if depth.isdecimal() else 0
            key = _value(node, "basedOn")
        return _Style(min(level, 9), None if numbering and numbering[0] == "0" else numbering)

    def _read_lists(self) -> dict[str, _List]:
        root = read_xml(self._archive, "word/numbering.xml")
        levels = dict[str, list[_Level]]()
        for each in root.iter("{*}abstractNum"):
            levels[_attribute(each, "abstractNumId")] = [
                _Level(
                    _value(level, "numFmt"), _integer(level, "start", default=1), _value(level, "lvlText") or f"%{at}."
                )
                for at, level in enumerate(each.iter("{*}lvl"), 1)
            ]
        return {
            _attribute(each, "numId"): _List(
                key := _value(each, "abstractNumId"),
                levels.get(key, []),
                {
                    int(_attribute(level, "ilvl")): _integer(level, "startOverride", default=1)
                    for level in each.iter("{*}lvlOverride")
                    if _child(level, "startOverride") is not None and _attribute(level, "ilvl").isdecimal()
                },
            )
            for each in root.iter("{*}num")
        }


def _attribute(node: Any, name: str) -> str:
    return next((value for key, value in node.items() if key.rpartition("}")[2] == name), "")


def paragraph_text(node: Any) -> str:
    """Return the text of a Word or PowerPoint paragraph on one line."""
    return tidy("".join(_texts(node)))


def _texts(node: Any) -> Iterator[str]:
    """Yield the visible text of a paragraph: runs, links and formulas, but not text boxes."""
    for child in node:
        name = _name(child)
        if format_node := _FORMATTERS.get(name):
            yield format_node(child)
        elif name not in _DROPPED:
            yield from _texts(child)


def _form_field(node: Any) -> str:
    """Return the state of a check box, or the selected entry of a drop-down list; empty for other fields."""
    if (box := _child(node, "ffData", "checkBox")) is not None:
        return "☒" if _is_on(box, "default" if _child(box, "checked") is None else "checked") else "☐"
    choices = _child(node, "ffData", "ddList")
    entries = [] if choices is None else [_attribute(each, "val") for each in choices.iterchildren("{*}listEntry")]
    return next(iter(entries[_integer(choices, "result") :]), "")


def _symbol(node: Any) -> str:
    """Return the character for a symbol font's code, with or without an F0 prefix; empty if unknown."""
    try:
        code = int(_attribute(node, "char"), 16)
    except ValueError:
        return ""
    known = _SYMBOLS.get(_attribute(node, "font"), {}).get(code & 0xFF)
    return known or ("" if 0xD800 <= code <= 0xF8FF or code > 0xFFFF else chr(code))


def _run(run: Any) -> str:
    properties, text = _child(run, "rPr"), "".join(_texts(run))
    if properties is None or _is_on(properties, "vanish"):
        return text if properties is None else ""
    place = _value(properties, "vertAlign") or _attribute(properties, "baseline").strip("0")  # PowerPoint
    is_moved = place.endswith("script") or place.strip("-").isdecimal()
    return super_or_subscript(text, raised=place[0] != "-" and place != "subscript") if is_moved else text


def _inner(node: Any, name: str) -> str:
    child = _child(node, name)
    return "" if child is None else "".join(_texts(child)).strip()


def _in_brackets(text: str) -> str:
    return text if text.isalnum() else f"({text})"


def _scripts(node: Any) -> str:
    """Return the subscript, limit and superscript of a part of a formula."""
    shown = ""
    for name, sign in (("sub", "_"), ("lim", "_"), ("sup", "^")):
        if text := _inner(node, name):
            script = super_or_subscript(text, raised=name == "sup")
            shown += script if script != text else f"{sign}{_in_brackets(text)}"
    return shown


def _delimited(node: Any) -> str:
    found = (_child(node, "dPr", name) for name in ("begChr", "endChr"))
    begin, end = (usual if each is None else _attribute(each, "val") for each, usual in zip(found, "()", strict=True))
    return f"{begin}{'|'.join(''.join(_texts(each)).strip() for each in node.iterchildren('{*}e'))}{end}"


_FORMATTERS: dict[str, Callable[[Any], str]] = {
    "t": lambda node: node.text or "",
    "r": _run,
    "sym": _symbol,
    "fldChar": _form_field,
    "noBreakHyphen": lambda _: "-",
    "docPr": lambda node: f" {_attribute(node, 'descr')} ",
    "oMath": lambda node: f" {''.join(_texts(node))} ",
    **dict.fromkeys(("tab", "br", "cr", "ptab"), lambda _: " "),
    "f": lambda node: f"{_in_brackets(_inner(node, 'num'))}/{_in_brackets(_inner(node, 'den'))}",
    "rad": lambda node: f"{super_or_subscript(_inner(node, 'deg'), raised=True)}√{_in_brackets(_inner(node, 'e'))}",
    "d": _delimited,
    "mr": lambda node: f"{' '.join(''.join(_texts(each)) for each in node)}; ",
    "func": lambda node: f"{_inner(node, 'fName')} {_inner(node, 'e')}",
    "nary": lambda node: f"{_value(node, 'naryPr', 'chr') or '∫'}{_scripts(node)} {_inner(node, 'e')}",
    **dict.fromkeys(("sSub", "sSup", "sSubSup", "limLow"), lambda node: f"{_inner(node, 'e')}{_scripts(node)}"),
}
"""Element name → function that returns its text; other elements are the text of their children."""
