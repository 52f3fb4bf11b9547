"""DOCX, ODT, EPUB and messages, written here as their programs write them."""

from email.message import EmailMessage
from pathlib import Path
from zipfile import ZipFile

import pytest

from hopgraph.tools.documents.conversion import convert_document
from hopgraph.tools.documents.elements import Document, Element

pytest.importorskip("selectolax")
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
STYLES = "".join(
    f'<w:style w:styleId="{key}"><w:name w:val="{name}"/>{more}</w:style>'
    for key, name, more in (
        ("T", "Title", ""),
        ("H", "heading 1", ""),
        ("Own", "Chapter", '<w:basedOn w:val="H"/>'),
    )
)
NUMBERING = (
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="7"><w:abstractNumId w:val="1"/></w:num>'
)


def paragraph(text: str, style: str = "", numbered: int | None = None) -> str:
    number = f'<w:numPr><w:ilvl w:val="{numbered}"/><w:numId w:val="7"/></w:numPr>' if numbered is not None else ""
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{number}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def read_docx(path: Path, body: str, **parts: str) -> Document:
    with ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {W} {M}><w:body>{body}</w:body></w:document>")
        archive.writestr("word/styles.xml", f"<w:styles {W}>{STYLES}</w:styles>")
        archive.writestr("word/numbering.xml", f"<w:numbering {W}>{NUMBERING}</w:numbering>")
        for name, content in parts.items():
            archive.writestr(f"word/{name}.xml", f"<w:part {W}>{content}</w:part>")
    return convert_document(path)


def test_title_headings_numbers_headers_formulas_and_changes(tmp_path: Path) -> None:
    formula = "<w:p><w:r><w:t>Area:</w:t></w:r><m:oMath><m:r><m:t>A=πr</m:t></m:r></m:oMath></w:p>"
    change = "<w:p><w:r><w:t>Pay 30</w:t></w:r><w:del><w:r><w:delText>40</w:delText></w:r></w:del></w:p>"
    items = paragraph("Open", numbered=0) + paragraph("Turn", numbered=1) + paragraph("Close", numbered=0)
    body = paragraph("Pump manual", "T") + paragraph("Settings", "Own") + items + formula + change
    found = read_docx(tmp_path / "a.docx", body, header1=paragraph("QX-7781 internal"))
    assert found.title == "Pump manual"
    assert found.elements == [
        Element("text", "QX-7781 internal"),
        Element("heading", "Pump manual", 1),
        Element("heading", "Settings", 2),
        Element("item", "1. Open"),
        Element("item", "  a. Turn"),
        Element("item", "2. Close"),
        Element("text", "Area: A=πr"),
        Element("text", "Pay 30"),
    ]


@pytest.mark.slow
def test_items_with_large_numbers_are_not_as_long_as_texts(tmp_path: Path) -> None:
    """In letters, the last mark would have 2,308 of them, and all together 69 million."""
    found = read_docx(tmp_path / "a.docx", paragraph("Turn", numbered=1) * 60_000)
    assert found.elements[26] == Element("item", "  aa. Turn")
    assert found.elements[-1] == Element("item", "  60000. Turn")


def test_the_first_row_of_a_table_has_its_names_and_merged_cells_repeat_downwards(tmp_path: Path) -> None:
    def row(*cells: str) -> str:
        return f"<w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>"

    begins, goes_on = '<w:tcPr><w:vMerge w:val="restart"/></w:tcPr>', "<w:tcPr><w:vMerge/></w:tcPr>"
    wide = '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'
    rows = [
        row(paragraph("Model"), paragraph("Torque"), paragraph("Price")),
        row(begins + paragraph("MX1"), paragraph("30 Nm"), paragraph("9")),
        row(goes_on + paragraph(""), wide + paragraph("on request")),
    ]
    (table,) = read_docx(tmp_path / "a.docx", f"<w:tbl>{''.join(rows)}</w:tbl>").elements
    assert table.rows == [["Model", "Torque", "Price"], ["MX1", "30 Nm", "9"], ["MX1", "on request", ""]]


def test_an_odt_is_read_with_its_headings_lists_and_tables(tmp_path: Path) -> None:
    names = " ".join(
        f'xmlns:{each}="urn:oasis:names:tc:opendocument:xmlns:{each}:1.0"' for each in ("office", "text", "table")
    )
    content = (
        '<text:h text:outline-level="2">Setup</text:h><text:p>Turn<text:s/>it <text:span>on</text:span>.'
        "<office:annotation><text:p>Really?</text:p></office:annotation></text:p>"
        "<text:list><text:list-item><text:p>First</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell>"
        "<text:p>b</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>1</text:p>"
        "</table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row></table:table>"
    )
    with ZipFile(tmp_path / "a.odt", "w") as archive:
        body = f"<office:body><office:text>{content}</office:text></office:body>"
        archive.writestr("content.xml", f"<office:document {names}>{body}</office:document>")
    assert convert_document(tmp_path / "a.odt").elements == [
        Element("heading", "Setup", 2),
        Element("text", "Turn it on."),
        Element("item", "- First"),
        Element("table", rows=[["a", "b"], ["1", "2"]]),
    ]


def test_entities_of_a_document_are_not_expanded(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    with ZipFile(tmp_path / "a.docx", "w") as archive:
        text = "<w:p><w:r><w:t>Safe. &b;&f;</w:t></w:r></w:p>"
        archive.writestr("word/document.xml", f"{bomb}<w:document {W}><w:body>{text}</w:body></w:document>")
    (only,) = convert_document(tmp_path / "a.docx").elements
    assert only.text == "Safe."


@pytest.mark.parametrize("kind", ["plain", "html"])
def test_a_message_says_who_wrote_what_to_whom(tmp_path: Path, kind: str) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ada <ada@example.org>", "bob@example.org", "The lamp in Brél"
    text = "It burns.\n\nAll night." if kind == "plain" else "<p>It burns.</p><p>All night.</p>"
    message.set_content(text, subtype=kind)
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="lamp.pdf")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    found = convert_document(tmp_path / "a.eml")
    assert found.title == "The lamp in Brél"
    assert [each.text for each in found.elements] == [
        "The lamp in Brél",
        "From: Ada <ada@example.org>",
        "To: bob@example.org",
        "It burns.",
        "All night.",
        "Attachments: lamp.pdf",
    ]
