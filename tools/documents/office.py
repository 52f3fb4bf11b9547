"""Read OpenDocument (ODT, ODS, ODP), RTF, PPTX and EPUB."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from html import escape, unescape
from importlib import import_module
from typing import Any, BinaryIO
from urllib.parse import unquote
from zipfile import ZipFile

from hopgraph.tools.documents.docx import paragraph_text, read_chart
from hopgraph.tools.documents.elements import (
    Document,
    Element,
    UnreadableFileError,
    format_number,
    make_note,
    make_table,
    make_tables,
    parse_xml,
    read_entry,
    read_paragraphs,
    read_xml,
    tidy,
)
from hopgraph.tools.documents.html import read_html, read_page
from hopgraph.tools.documents.spreadsheet import note_hidden

_SAME_HEIGHT = 228_600
"""A quarter of an inch in EMU; shapes whose top edges differ by less are read as one row, left to right."""
_ODT_TAGS = dict[str, str](
    re.findall(
        r"(\S+) (\S+)",
        "p p list ul numbered ol list-item li table table table-header-rows thead table-row tr table-cell td "
        "line-break br",
    )
)
_ODT_SPANS = {"number-columns-spanned": "colspan", "number-rows-spanned": "rowspan"}
_ODT_DROPPED = frozenset(
    {"annotation", "tracked-changes", "note-citation", "sequence-decls", "forms", "ruby-text", "covered-table-cell"}
    | {"table-of-content", "illustration-index", "table-index"}
)
_MAX_REPEATED = 100
_TAG = re.compile(r"<[^<>]+>")
_RTF_ASIDE = re.compile(r"\{\\(?:footnote|shptxt|(?:header|footer)[lrf]?|(v|deleted))(?![a-z\d])")
"""A group outside the running text; the capturing group matches a hidden one."""
_RTF_ROW = re.compile(r"\\(?:trowd|intbl)(?![a-z]).*?\\row(?![a-z])", re.DOTALL)
_RTF_LINE_END = re.compile(r"\\(?:par|line)(?![a-z])")
_BYTE_PAIR = re.compile(r"(\\'[89a-f][0-9a-f])([@-\[\]-z|~])", re.IGNORECASE)
"""An escaped lead byte, and a letter that may be its trail byte in Chinese, Japanese and Korean encodings."""
_RTF_ENCODINGS = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_LINK_ADDRESS = re.compile(r"(\\fldinst[\s{]{0,9})HYPERLINK")


def read_odt(file: BinaryIO) -> Document:
    """Read an OpenDocument text by converting it to HTML; page headers and footers come first."""
    with ZipFile(file) as archive:
        root, styles, meta = (read_xml(archive, f"{name}.xml") for name in ("content", "styles", "meta"))
    title = next((each.text for each in meta.iter("{*}title") if each.text), "")
    margins = [each for name in ("header", "footer") for each in styles.iter(f"{{*}}{name}")]
    _mark_numbered(root, styles)
    pages = [read_html(f"<body>{''.join(_odt_html(each))}</body>") for each in (*margins, *root.iter("{*}text"))]
    elements = [each for page in pages for each in page.elements]
    return Document(elements, title or next((page.title for page in pages[-1:]), ""))


def read_ods(file: BinaryIO) -> Document:
    """Read the visible sheets of an OpenDocument spreadsheet, with values as displayed."""
    document = Document()
    with ZipFile(file) as archive:
        root = read_xml(archive, "content.xml")
    styles = (
        each.getparent() for each in root.iter("{*}table-properties") if _attributes(each).get("display") == "false"
    )
    hidden = {_attributes(each).get("name") for each in styles}
    for sheet in root.iter("{*}table"):
        attributes, merged_rows, notes = _attributes(sheet), set[int](), list[Element]()
        is_hidden = attributes.get("style-name") in hidden
        elements = [] if is_hidden else list(make_tables(_ods_rows(sheet, merged_rows, notes), merged_rows))
        if elements := [*elements, *notes]:
            document.elements += [Element("sheet", tidy(attributes.get("name", ""))), *elements]
    document.notes += note_hidden(sum(_attributes(each).get("style-name") in hidden for each in root.iter("{*}table")))
    return document


def _ods_rows(sheet: Any, merged_rows: set[int], notes: list[Element]) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbered rows; collect rows with cells that span columns in `merged_rows`, and notes in `notes`."""
    number, merged = 1, dict[int, tuple[int, str]]()
    for row in sheet.iter("{*}table-row"):
        cells, row_notes = list[str](), list[tuple[int, str]]()
        for cell in row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
            attributes, (last, above) = _attributes(cell), merged.get(len(cells), (0, ""))
            text = tidy(unescape(_TAG.sub(" ", "".join(_odt_html(cell)))))
            if cell.tag.endswith("covered-table-cell") and number <= last:
                text = above
            merged[len(cells)] = number + _count(attributes, "number-rows-spanned") - 1, text
            merged_rows |= {number} if _count(attributes, "number-columns-spanned") > 1 else set()
            annotations = (note.iterchildren("{*}p") for note in cell.iterchildren("{*}annotation"))
            row_notes += [(len(cells), " ".join("".join(p.itertext()) for p in lines)) for lines in annotations]
            cells += [text] * _count(attributes, "number-columns-repeated")
        notes += (make_note(number, cells, at, note) for at, note in row_notes)
        times = _count(_attributes(row), "number-rows-repeated", 10**7)
        yield from ((number + at, cells) for at in range(min(times, _MAX_REPEATED) if any(cells) else 1))
        number += times


def read_odp(file: BinaryIO) -> Document:
    """Read an OpenDocument presentation; each slide is a page."""
    with ZipFile(file) as archive:
        root = read_xml(archive, "content.xml")
    _mark_numbered(root)
    pages = [read_html(f"<body>{''.join(_odt_html(each))}</body>").elements for each in root.iter("{*}page")]
    elements = [each for number, page in enumerate(pages, 1) for each in (Element("page", "", number), *page)]
    return Document(elements, next((each.text for each in elements if each.kind == "heading"), ""))


def _mark_numbered(*roots: Any) -> None:
    """Rename the lists that are numbered by their styles."""
    styles = [style for root in roots for style in root.iter("{*}list-style")]
    levels = {_attributes(each).get("name"): each.iter("{*}list-level-style-number") for each in styles}
    numbered = {(name, _attributes(level).get("level")) for name, each in levels.items() for level in each}
    for each in roots[0].iter("{*}list"):
        lists = [each, *each.iterancestors("{*}list", "{*}numbered")]
        name = next((name for one in lists if (name := _attributes(one).get("style-name"))), None)
        if (name, str(len(lists))) in numbered:
            each.tag = "numbered"


def _attributes(node: Any) -> dict[str, str]:
    return {key.rpartition("}")[2]: value for key, value in node.items()}


def _odt_html(node: Any, deferred: list[Any] | None = None) -> Iterator[str]:
    """Yield the content of a node as HTML; notes and boxes in a paragraph are `deferred` until after it."""
    for child in node:
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else "annotation"
        attributes = _attributes(child)
        tag = f"h{min(_count(attributes, 'outline-level'), 6)}" if name == "h" else _ODT_TAGS.get(name, "")
        tag = "h1" if name == "text-box" and _attributes(node).get("class") == "title" else tag  # of a slide
        if name in ("s", "tab"):
            yield " "
        elif name in ("title", "desc"):  # of a picture
            yield f" {escape(child.text or '')} "
        elif name in ("note-body", "text-box") and deferred is not None:
            deferred.append(child)
        elif name not in _ODT_DROPPED and attributes.get("display") != "none" and attributes.get("is-hidden") != "true":
            spans = "".join(f' {span}="{_count(attributes, key)}"' for key, span in _ODT_SPANS.items() if tag == "td")
            inner = list[Any]() if tag in ("p", "h1", "h2", "h3", "h4", "h5", "h6") else deferred
            yield f"<{tag}{spans}>" if tag else ""
            yield escape(child.text or "")
            yield from _odt_html(child, inner)
            yield f"</{tag}>" if tag and tag != "br" else ""
            for each in inner if inner is not deferred and inner else ():
                yield from _odt_html(each)
            yield "<td></td>" * (_count(attributes, "number-columns-repeated") - 1)
        yield escape(child.tail or "")


def _count(attributes: dict[str, str], name: str, most: int = _MAX_REPEATED) -> int:
    value = attributes.get(name, "")
    return min(int(value), most) if value.isdecimal() and int(value) else 1


def read_rtf(file: BinaryIO) -> Document:
    """Read RTF paragraphs and tables; headings cannot be recognized."""
    library: Any = import_module("striprtf.striprtf")
    source = file.read().decode("latin-1")  # other characters are escaped
    if not source.lstrip().startswith("{\\rtf"):
        raise UnreadableFileError("it is not RTF")
    source = _LINK_ADDRESS.sub(r"\1", _move_asides(source))  # striprtf would keep the address
    source = _RTF_ROW.sub(lambda row: _RTF_LINE_END.sub(r"\\tab", row[0]), source)
    source = _BYTE_PAIR.sub(lambda pair: f"{pair[1]}\\'{ord(pair[2]):x}", source)
    kind = re.search(r"\\(mac|pca?)(?![a-z])", source[:100])
    encoding = _RTF_ENCODINGS[kind[1]] if kind else "cp1252"
    text = str(library.rtf_to_text(source, encoding, errors="replace"))
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins surrogate pairs
    rows, elements = list[list[str]](), list[Element]()
    for line in [*text.split("\n"), ""]:
        if line.count("|") > 1 and line.rstrip().endswith("|"):  # a table row, as striprtf formats it
            rows.append(line.rstrip().removesuffix("|").split("|"))
            continue
        elements += make_table(rows)
        rows = []
        if line.strip():
            elements.append(Element("text", tidy(line)))
    return Document(elements)


def _move_asides(source: str) -> str:
    """Move footnotes, text boxes, page headers and footers, which striprtf skips, to the end of the text."""
    kept, asides, position = list[str](), list[str](), 0
    while found := _RTF_ASIDE.search(source, position):
        depth, end = 0, found.end()
        for mark in _BRACE.finditer(source, found.start()):
            depth += {"{": 1, "}": -1}.get(mark[0], 0)
            end = mark.end()
            if not depth:
                break
        kept.append(f"{source[position : found.start()]}{{}}")  # keeps a control word apart from the text
        asides += [] if found[1] else [f"\\par {source[found.end() : end - 1]}"]
        position = end
    text, _, end = "".join([*kept, source[position:]]).rpartition("}")
    return f"{text}{''.join(asides)}}}{end}"


def read_epub(file: BinaryIO) -> Document:
    """Read the chapters of a book in spine order."""
    with ZipFile(file) as archive:
        container = read_xml(archive, "META-INF/container.xml")
        package_path = next((each.get("full-path", "") for each in container.iter("{*}rootfile")), "")
        package = read_xml(archive, package_path)
        items = {each.get("id"): each for each in package.iter("{*}item")}
        spine = [items[each.get("idref")] for each in package.iter("{*}itemref") if each.get("idref") in items]
        title = next((each.text for each in package.iter("{*}title") if each.text), "")
        contents = {each.get("href", "").partition("#")[0] for each in package.iterfind(".//{*}reference[@type='toc']")}
        document = Document(title=tidy(title))
        for item in spine:
            if "nav" in (item.get("properties") or "").split() or item.get("href") in contents:
                continue
            name = posixpath.normpath(posixpath.join(posixpath.dirname(package_path), unquote(item.get("href", ""))))
            elements = read_page(read_entry(archive, name)).elements
            if document.elements and elements and elements[0].kind != "heading":
                document.elements.append(Element("heading", number=1))  # ends the previous chapter's section
            document.elements += elements
    return document


def read_pptx(file: BinaryIO) -> Document:
    """Read slides: each is a page with its title, its shapes from top to bottom, and its notes."""
    from pptx import Presentation

    slides: Any = Presentation(file).slides
    elements = list[Element]()
    for number, slide in enumerate(slides, 1):
        _resolve_alternatives(slide.element)
        elements.append(Element("page", "", number))
        title = slide.shapes.title
        if title is not None and (text := tidy(" ".join(map(paragraph_text, title.element.iter("{*}p"))))):
            elements.append(Element("heading", text, 1))
        elements += _shapes(each for each in slide.shapes if title is None or each.shape_id != title.shape_id)
        if slide.has_notes_slide and slide.notes_slide.notes_placeholder is not None:
            elements += _texts_of(slide.notes_slide.notes_placeholder)
    return Document(elements, next((each.text for each in elements if each.kind == "heading"), ""))


def _resolve_alternatives(slide: Any) -> None:
    """Replace each `AlternateContent`, which python-pptx ignores, with its first choice."""
    for each in list(slide.iter("{*}AlternateContent")):
        for shape in list(each[0]) if len(each) else ():
            each.addprevious(shape)
        each.getparent().remove(each)


def _shapes(shapes: Iterable[Any]) -> Iterator[Element]:
    rows = list[list[Any]]()
    for shape in sorted(shapes, key=lambda each: each.top or 0):
        if rows and (shape.top or 0) - (rows[-1][0].top or 0) < _SAME_HEIGHT:
            rows[-1].append(shape)
        else:
            rows.append([shape])
    for shape in (each for row in rows for each in sorted(row, key=lambda each: each.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield from read_html(f"<table>{''.join(map(_slide_row, shape.element.iter('{*}tr')))}</table>").elements
        elif getattr(shape, "has_chart", False):
            yield from read_chart(parse_xml(shape.chart.part.blob))
        elif shape.has_text_frame and shape.element.find(".//{*}ph[@type='sldNum']") is None:
            yield from _texts_of(shape)
        else:
            yield from _picture(shape)


def _slide_row(row: Any) -> str:
    cells = (
        f'<td colspan="{each.get("gridSpan", 1)}" rowspan="{each.get("rowSpan", 1)}">'
        f"{escape(' '.join(map(paragraph_text, each.iter('{*}p'))))}</td>"
        for each in row.iterchildren("{*}tc")
        if not each.get("hMerge") and not each.get("vMerge")
    )
    return f"<tr>{''.join(cells)}</tr>"


def _texts_of(shape: Any) -> Iterator[Element]:
    paragraphs = [(each, text) for each in shape.element.iter("{*}p") if (text := paragraph_text(each))]
    counted = [0] * 10
    for each, text in paragraphs:
        level = min(int(next((found.get("lvl", 0) for found in each.iterchildren("{*}pPr")), 0)), 8)
        numbers = next(each.iter("{*}buAutoNum"), None)
        counted[level:] = [0 if numbers is None else counted[level] + 1, *[0] * (9 - level)]
        mark = "-" if numbers is None else _marker(counted[level], numbers)
        is_item = len(paragraphs) > 1 or numbers is not None
        yield Element("item", f"{'  ' * level}{mark} {text}") if is_item else Element("text", text)


def _marker(position: int, numbers: Any) -> str:
    kind = numbers.get("type", "")
    letters = "Letter" if kind.startswith("alpha") else "Roman" * kind.startswith("roman")
    number = position + int(numbers.get("startAt", 1)) - 1
    return f"{format_number(number, ('upper' if 'Uc' in kind else 'lower') + letters)}."


def _picture(shape: Any) -> Iterator[Element]:
    """Yield the alternative text of a picture, and the text of SmartArt."""
    for each in shape.element.iter("{*}cNvPr"):
        if text := tidy(each.get("descr", "")):
            yield Element("text", text)
    for each in shape.element.iter("{*}relIds"):
        place = next((value for key, value in each.items() if key.endswith("}dm")), "")
        yield from read_paragraphs(parse_xml(shape.part.related_part(place).blob))
