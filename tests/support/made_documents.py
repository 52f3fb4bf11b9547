"""Small documents in the formats that real programs write."""

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile


class Part(NamedTuple):
    """A heading with a text below it; in a PDF, a page without the heading."""

    heading: str
    text: str
    rows: Sequence[Sequence[str]] = ()
    """Of a table, in HTML, DOCX, EPUB, ODT and PPTX."""


def write_document(path: Path, title: str, parts: Sequence[Part]) -> Path:
    """Write a document in the format of the path's suffix."""
    _WRITERS[path.suffix](path, title, parts)
    return path


def _body(parts: Sequence[Part]) -> str:
    return "".join(f"<h2>{escape(part.heading)}</h2><p>{escape(part.text)}</p>{_table(part.rows)}" for part in parts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return f"<table><tr>{'</tr><tr>'.join(lines)}</tr></table>" if rows else ""


def _html(path: Path, title: str, parts: Sequence[Part]) -> None:
    body = _body(parts)
    page = f"<html><head><title>{title}</title><script>no()</script></head><body><h1>{title}</h1>{body}</body></html>"
    path.write_text(page, encoding="utf-8")


def _docx(path: Path, title: str, parts: Sequence[Part]) -> None:
    def paragraph(text: str, style: str = "") -> str:
        styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        return f"<w:p>{styled}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"

    body = paragraph(title, "Heading1")
    for part in parts:
        rows = ["".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in part.rows]
        table = f"<w:tbl><w:tr>{'</w:tr><w:tr>'.join(rows)}</w:tr></w:tbl>" if rows else ""
        body += paragraph(part.heading, "Heading2") + paragraph(part.text) + table
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    names = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>' for n in (1, 2)
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    _zip(
        path,
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{kind}.document.main+xml"/>'
            f'<Override PartName="/word/styles.xml" ContentType="{kind}.styles+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{relation}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{relation}/styles" Target="styles.xml"/></Relationships>',
            "word/styles.xml": f"<w:styles {word}>{names}</w:styles>",
            "word/document.xml": f"<w:document {word}><w:body>{body}</w:body></w:document>",
        },
    )


def _epub(path: Path, title: str, parts: Sequence[Part]) -> None:
    _zip(
        path,
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
            "book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="c" href="c.xhtml"/>'
            '</manifest><spine><itemref idref="c"/></spine></package>',
            "c.xhtml": f"<html><body><h1>{title}</h1>{_body(parts)}</body></html>",
        },
    )


def _odt(path: Path, title: str, parts: Sequence[Part]) -> None:
    names = "".join(
        f' xmlns:{each}="urn:oasis:names:tc:opendocument:xmlns:{each}:1.0"' for each in ("text", "table", "office")
    )
    body = f'<text:h text:outline-level="1">{escape(title)}</text:h>'
    for part in parts:
        body += f'<text:h text:outline-level="2">{escape(part.heading)}</text:h><text:p>{escape(part.text)}</text:p>'
        rows = (
            "".join(f"<table:table-cell><text:p>{escape(cell)}</text:p></table:table-cell>" for cell in row)
            for row in part.rows
        )
        body += f"<table:table>{''.join(f'<table:table-row>{row}</table:table-row>' for row in rows)}</table:table>"
    content = f"<office:document-content{names}><office:body><office:text>{body}</office:text></office:body>"
    _zip(
        path,
        {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": f"{content}</office:document-content>"},
    )


def _zip(path: Path, files: dict[str, str]) -> None:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def _pptx(path: Path, title: str, parts: Sequence[Part]) -> None:
    from pptx import Presentation

    slides: Any = Presentation()
    for heading, text, rows in (Part(title, ""), *parts):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = heading, text
        table: Any = slide.shapes.add_table(len(rows), len(rows[0]), 0, 0, 9144000, 999).table if rows else None
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                table.cell(at, column).text = cell
    slides.save(str(path))


def draw_pdf(path: Path, pages: Sequence[Sequence[tuple[float, float, str] | tuple[float, float, str, float]]]) -> Path:
    """Write a PDF with texts at positions in points from the lower left corner of A4 pages, and optional sizes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

    with rc_context({"pdf.fonttype": 42}), PdfPages(path) as book:
        for page in pages:
            figure: Any = Figure(figsize=(595 / 72, 842 / 72))
            for x, y, text, *size in page:
                figure.text(x / 595, y / 842, text, fontsize=size[0] if size else 11)
            book.savefig(figure)
    return path


def make_pdf(pages: Sequence[str], trailer: str = "", page: str = "") -> bytes:
    """Return a PDF with a text on each page, in lines of 80 characters; an empty text is an empty page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        lines = [text[start : start + 80] for start in range(0, len(text), 80)]
        drawn = " ".join(f"({line.replace('(', '').replace(')', '')}) Tj T*" for line in lines)
        stream = f"BT /F1 11 Tf 14 TL 50 780 Td {drawn} ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> {page} >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    content, places = b"%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{each}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{len(content)}\n%%EOF\n"
    return content + f"xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("latin-1")


def _rtf(path: Path, title: str, parts: Sequence[Part]) -> None:
    def escaped(text: str) -> str:
        return "".join(each if each.isascii() else f"\\u{ord(each)}?" for each in text)

    head = r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss Helvetica;}}{\*\generator made;}\f0\fs24 "
    body = r"\par ".join(escaped(each) for each in [title, *(f"{part.heading}. {part.text}" for part in parts)])
    path.write_text(f"{head}{body}\\par}}", encoding="ascii")


_WRITERS: dict[str, Callable[[Path, str, Sequence[Part]], None]] = {
    ".docx": _docx,
    ".epub": _epub,
    ".html": _html,
    ".odt": _odt,
    ".pptx": _pptx,
    ".rtf": _rtf,
}
