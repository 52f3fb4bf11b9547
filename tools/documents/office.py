"""Texts, slides and books as elements: ODT, RTF, PPTX and EPUB."""

import posixpath
from collections.abc import Iterable, Iterator
from html import escape
from importlib import import_module
from typing import Any, BinaryIO
from urllib.parse import unquote
from zipfile import ZipFile

from hopgraph.tools.documents.elements import (
    Document,
    Element,
    UnreadableFileError,
    make_table,
    parse_xml,
    read_entry,
    tidy,
)
from hopgraph.tools.documents.html import read_html

_ODT_TAGS = {
    "p": "p",
    "list": "ul",
    "list-item": "li",
    "table": "table",
    "table-row": "tr",
    "table-cell": "td",
    "covered-table-cell": "td",
    "line-break": "br",
}
_ODT_DROPPED = frozenset(
    {"annotation", "tracked-changes", "note-citation", "sequence-decls", "forms", "soft-page-break"}
)


def read_odt(file: BinaryIO) -> Document:
    """Read an OpenDocument text, as the page of HTML that its content would be."""
    with ZipFile(file) as archive:
        root = parse_xml(read_entry(archive, "content.xml") or b"<empty/>")
        meta = read_entry(archive, "meta.xml")
    title = next((each.text for each in parse_xml(meta).iter("{*}title") if each.text), "") if meta else ""
    body = next(iter(root.iter("{*}text")), None)
    document = read_html(f"<body>{''.join(_odt_html(body))}</body>") if body is not None else Document()
    document.title = title or document.title
    return document


def _odt_html(node: Any) -> Iterator[str]:
    for child in node:
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else "annotation"
        if name == "h":
            level = next((value for key, value in child.items() if key.endswith("}outline-level")), "1")
            tag = f"h{min(int(level) if level.isdecimal() else 1, 6) or 1}"
        else:
            tag = _ODT_TAGS.get(name, "")
        if name in ("s", "tab"):
            yield " "
        elif name not in _ODT_DROPPED:
            spans = "".join(
                f' {span}="{value}"'
                for key, value in child.items()
                for span, end in (("colspan", "}number-columns-spanned"), ("rowspan", "}number-rows-spanned"))
                if key.endswith(end) and value.isdecimal()
            )
            if name != "covered-table-cell":
                yield from (f"<{tag}{spans if tag == 'td' else ''}>" if tag else "", escape(child.text or ""))
                yield from _odt_html(child)
                yield f"</{tag}>" if tag and tag != "br" else ""
        yield escape(child.tail or "")


def read_rtf(file: BinaryIO) -> Document:
    """Read RTF, a text for each of its paragraphs; which ones are headings is not known."""
    library: Any = import_module("striprtf.striprtf")
    source = file.read().decode("latin-1")  # other characters are escaped
    if not source.lstrip().startswith("{\\rtf"):
        raise UnreadableFileError("it is not RTF")
    try:
        text = str(library.rtf_to_text(source, errors="replace"))
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins surrogate pairs
    except (ValueError, LookupError) as error:
        raise UnreadableFileError(f"it is damaged: {error}") from None
    rows, elements = list[list[str]](), list[Element]()
    for line in [*text.split("\n"), ""]:
        if line.count("|") > 1 and line.rstrip().endswith("|"):  # how striprtf writes rows
            rows.append(line.rstrip().removesuffix("|").split("|"))
            continue
        elements += make_table(rows)
        rows = []
        if line.strip():
            elements.append(Element("text", tidy(line)))
    return Document(elements)


def read_epub(file: BinaryIO) -> Document:
    """Read the chapters of a book in their order."""
    with ZipFile(file) as archive:
        container = parse_xml(read_entry(archive, "META-INF/container.xml") or b"<none/>")
        place = next((each.get("full-path", "") for each in container.iter("{*}rootfile")), "")
        package = parse_xml(read_entry(archive, place) or b"<none/>")
        items = {each.get("id"): each for each in package.iter("{*}item")}
        spine = [items[each.get("idref")] for each in package.iter("{*}itemref") if each.get("idref") in items]
        title = next((each.text for each in package.iter("{*}title") if each.text), "")
        document = Document(title=tidy(title))
        for item in spine:
            if "nav" in (item.get("properties") or "").split():
                continue
            name = posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(item.get("href", ""))))
            document.elements += read_html(read_entry(archive, name).decode("utf-8-sig", "replace")).elements
    return document


def read_pptx(file: BinaryIO) -> Document:
    """Read slides: each a page, under its title; its texts by their places, then its notes."""
    from pptx import Presentation
    from pptx.exc import PackageNotFoundError

    try:
        slides: Any = Presentation(file).slides
        elements = list[Element]()
        for number, slide in enumerate(slides, 1):
            elements.append(Element("page", "", number))
            title = slide.shapes.title
            if title is not None and title.has_text_frame and (text := tidy(title.text_frame.text)):
                elements.append(Element("heading", text, 1))
            elements += _shapes(each for each in slide.shapes if title is None or each.shape_id != title.shape_id)
            if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
                elements += _text_frame(slide.notes_slide.notes_text_frame)
    except (PackageNotFoundError, KeyError, ValueError, AttributeError, TypeError, IndexError) as error:
        raise UnreadableFileError(f"it is damaged: {error}"[:200]) from None
    first = next((each.text for each in elements if each.kind == "heading"), "")
    return Document(elements, first)


def _shapes(shapes: Iterable[Any]) -> Iterator[Element]:
    for shape in sorted(shapes, key=lambda each: (each.top or 0, each.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield from make_table([[tidy(cell.text) for cell in row.cells] for row in shape.table.rows])
        elif getattr(shape, "has_chart", False):
            yield from _chart(shape.chart)
        elif shape.has_text_frame:
            yield from _text_frame(shape.text_frame)


def _text_frame(frame: Any) -> Iterator[Element]:
    paragraphs = [(each.level, text) for each in frame.paragraphs if (text := tidy(each.text))]
    for level, text in paragraphs:
        is_item = len(paragraphs) > 1
        yield Element("item", f"{'  ' * level}- {text}") if is_item else Element("text", text)


def _chart(chart: Any) -> Iterator[Element]:
    if chart.has_title and (title := tidy(chart.chart_title.text_frame.text)):
        yield Element("text", title)
    plot = chart.plots[0]
    series = list(plot.series)
    values = [list(each.values) for each in series]
    rows = [["", *(each.name for each in series)]]
    rows += [
        [str(name), *(str(each[at]) for each in values if at < len(each))] for at, name in enumerate(plot.categories)
    ]
    yield from make_table(rows)
