"""DOCX, ODT, EPUB and messages, written here as their programs write them."""

import zlib
from base64 import b64decode
from email.message import EmailMessage
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from hopgraph.tools.documents.conversion import convert_document
from hopgraph.tools.documents.elements import Document, Element, join_text
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus

pytest.importorskip("selectolax")
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
STYLES = "".join(
    f'<w:style w:styleId="{key}"><w:name w:val="{name}"/>{more}</w:style>'
    for key, name, more in (
        ("T", "Title", ""),
        ("H", "heading 1", ""),
        ("Own", "Chapter", '<w:basedOn w:val="H"/>'),
        ("Toc", "toc 1", ""),
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
        archive.writestr("word/_rels/document.xml.rels", "<r><r Id='r1' Target='diagrams/data1.xml'/></r>")
        for name, content in {"styles": STYLES, "numbering": NUMBERING, **parts}.items():
            archive.writestr(f"word/{name}.xml", f"<w:part {W}>{content}</w:part>")
    return convert_document(path)


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>"


ODF = " ".join(
    f'xmlns:{each}="urn:oasis:names:tc:opendocument:xmlns:{each}:1.0"'
    for each in ("office", "text", "table", "draw", "style", "presentation")
)


def read_odf(path: Path, content: str, styles: str = "") -> list[Element]:
    with ZipFile(path, "w") as archive:
        for name, body in (("content", content), ("styles", styles)):
            archive.writestr(f"{name}.xml", f"<office:document {ODF}>{body}</office:document>")
    return convert_document(path).elements


def odf_row(*texts: str, properties: str = "") -> str:
    cells = "".join(f"<table:table-cell><text:p>{each}</text:p></table:table-cell>" for each in texts)
    return f"<table:table-row{properties}>{cells}</table:table-row>"


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


def test_a_paragraph_without_an_end_stays_out_of_notes_and_tables_and_is_never_lost(tmp_path: Path) -> None:
    def without_end(inside: str) -> str:
        return f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{inside}</w:p>"

    note = "<w:r><w:footnoteReference w:id='2'/></w:r>"
    table = row(paragraph("Model"), paragraph("Price")) + row(without_end(run("MX1")), paragraph("9"))
    body = without_end(run("It rains") + note) + paragraph("in Brel.") + without_end(run("Prices"))
    body += f"<w:tbl>{table}</w:tbl>" + without_end(run("The end"))
    footnote = f"<w:footnote w:id='2'>{paragraph('A proverb.')}</w:footnote>"
    assert read_docx(tmp_path / "a.docx", body, footnotes=footnote).elements == [
        Element("text", "A proverb."),
        Element("text", "It rains in Brel."),
        Element("text", "Prices"),
        Element("table", rows=[["Model", "Price"], ["MX1", "9"]]),
        Element("text", "The end"),
    ]


@pytest.mark.slow
def test_items_with_large_numbers_are_not_as_long_as_texts(tmp_path: Path) -> None:
    """In letters, the last mark would have 2,308 of them, and all together 69 million."""
    found = read_docx(tmp_path / "a.docx", paragraph("Turn", numbered=1) * 60_000)
    assert found.elements[26] == Element("item", "  aa. Turn")
    assert found.elements[-1] == Element("item", "  60000. Turn")


def test_the_first_row_of_a_table_has_its_names_and_merged_cells_repeat_downwards(tmp_path: Path) -> None:
    begins, goes_on = '<w:tcPr><w:vMerge w:val="restart"/></w:tcPr>', "<w:tcPr><w:vMerge/></w:tcPr>"
    wide = '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'
    rows = [
        row(paragraph("Model"), paragraph("Torque"), paragraph("Price")),
        row(begins + paragraph("MX1"), paragraph("30 Nm"), paragraph("9")),
        row(goes_on + paragraph(""), wide + paragraph("on request")),
        row(goes_on + paragraph(""), paragraph(""), paragraph("")),
    ]
    (table,) = read_docx(tmp_path / "a.docx", f"<w:tbl>{''.join(rows)}</w:tbl>").elements
    assert table.rows == [["Model", "Torque", "Price"], ["MX1", "30 Nm", "9"], ["MX1", "on request", ""]]


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def field(data: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar></w:r>'


def math(name: str, **parts: str) -> str:
    inner = "".join(f"<m:{key}><m:r><m:t>{text}</m:t></m:r></m:{key}>" for key, text in parts.items())
    return f"<m:oMath><m:{name}>{inner}</m:{name}></m:oMath>"


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (run("Pay ") + run("30", '<w:vanish w:val="0"/>') + run("40", "<w:vanish/>"), "Pay 30"),
        (run("10") + run("-6", '<w:vertAlign w:val="superscript"/>'), "10⁻⁶"),
        (run("H") + run("2", '<w:vertAlign w:val="subscript"/>') + run("O"), "H₂O"),
        (run("1") + run("st", '<w:vertAlign w:val="superscript"/>'), "1st"),
        ('<w:r><w:t>5 </w:t><w:sym w:font="Symbol" w:char="F06D"/><w:t>m</w:t></w:r>', "5 \u03bcm"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:t> done</w:t></w:r>', "✓ done"),
        (
            f"<w:r><w:ruby><w:rt>{run('とう')}</w:rt><w:rubyBase>{run('東')}</w:rubyBase></w:ruby></w:r>{run('京')}",
            "東京",
        ),
        (field("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>") + run(" Yes"), "☒ Yes"),
        (field("<w:checkBox><w:default w:val='0'/></w:checkBox>") + run(" No"), "☐ No"),
        (
            field("<w:ddList><w:result w:val='1'/><w:listEntry w:val='Red'/><w:listEntry w:val='Blue'/></w:ddList>"),
            "Blue",
        ),
        (
            "<w:pPr><w:rPr><w:del/></w:rPr></w:pPr>" + run("It rains") + "</w:p><w:p>" + run("in Brel."),
            "It rains in Brel.",
        ),
        (math("f", num="1", den="a+b"), "1/(a+b)"),
        (math("sSup", e="x", sup="2"), "x²"),
        (math("sSub", e="x", sub="max"), "x_max"),
        (math("rad", e="2"), "√2"),
        (math("d", e="a+b"), "(a+b)"),
        (math("nary", sub="i=1", sup="n", e="i"), "∫ᵢ₌₁ⁿ i"),
        (run("\uf0b7 di\ufb03cult"), "• difficult"),
        ("<w:pPr><w:pStyle w:val='Toc'/></w:pPr>" + run("Setup 3") + "</w:p><w:p>" + run("It rains."), "It rains."),
        ("<w:r><w:drawing><w:docPr descr='The tower'/></w:drawing></w:r>", "The tower"),
    ],
)
def test_letters_are_what_the_page_shows(tmp_path: Path, inside: str, text: str) -> None:
    (found,) = read_docx(tmp_path / "a.docx", f"<w:p>{inside}</w:p>").elements
    assert found.text == text


def test_numbers_are_those_of_the_page(tmp_path: Path) -> None:
    forms = (("decimal", "Article %1"), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"))
    levels = "".join(
        f'<w:lvl><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for form, text in forms
    )
    restart = '<w:lvlOverride w:ilvl="1"><w:startOverride w:val="5"/></w:lvlOverride>'
    numbers = "".join(
        f'<w:num w:numId="{key}"><w:abstractNumId w:val="1"/>{more}</w:num>' for key, more in ((7, ""), (8, restart))
    )
    body = paragraph("Term", "H", 0) + "".join(
        paragraph(*each) for each in (("It begins.", "", 1), ("It ends.", "", 1))
    )
    body += paragraph("on notice", "", 2) + paragraph("Pay", "H", 0) + paragraph("In May.", "", 1)
    body += paragraph("In June.", "", 1).replace('w:numId w:val="7"', 'w:numId w:val="8"')
    numbering = f'<w:abstractNum w:abstractNumId="1">{levels}</w:abstractNum>{numbers}'
    found = read_docx(tmp_path / "a.docx", body, numbering=numbering).elements
    assert [f"{each.mark} {each.text}".strip() for each in found] == [
        "Article 1 Term",
        "1.1 It begins.",
        "1.2 It ends.",
        "(a) on notice",
        "Article 2 Pay",
        "2.1 In May.",
        "2.5 In June.",
    ]
    assert next(open_corpus(tmp_path).records(CorpusReading())).title == "a > Article 1 Term"


def test_rows_that_begin_later_headers_in_tables_diagrams_and_notes(tmp_path: Path) -> None:
    rows = row(*map(paragraph, "123"), properties="<w:tblHeader/>") + row(*map(paragraph, "abc"))
    rows += row(*map(paragraph, "de"), properties='<w:gridBefore w:val="1"/>')
    header = f"<w:tbl>{row(paragraph('QX-7781'), paragraph('Revision 3'))}</w:tbl>"
    body = f"<w:tbl>{rows}</w:tbl><w:p><w:relIds w:dm='r1'/><w:footnoteReference w:id='2'/></w:p>{paragraph('End')}"
    parts = {"header1": header, "diagrams/data1": paragraph("Valve opens")}
    parts["footnotes"] = f"<w:footnote w:id='2'>{paragraph('By Otto.')}</w:footnote>"
    found = read_docx(tmp_path / "a.docx", body, **parts)
    assert [join_text([each]) for each in found.elements] == [
        "QX-7781 Revision 3",
        "1 2 3 a b c d e",
        "Valve opens",
        "By Otto.",
        "End",
    ]


def test_notes_and_boxes_of_an_odt_part_no_sentence(tmp_path: Path) -> None:
    inner = "<text:note-citation>1</text:note-citation><text:note-body><text:p>By Otto.</text:p></text:note-body>"
    note = f"<text:note>{inner}</text:note>"
    box = "<draw:frame><draw:text-box><text:p>A box.</text:p></draw:text-box></draw:frame>"
    last = odf_row("3").replace("row>", 'row><table:table-cell table:number-columns-repeated="2"/>', 1)
    table = f"<table:table>{odf_row(*'abc')}{last}</table:table>"
    body = f"<office:text><text:p>The tower{note} was{box} built.</text:p>{table}</office:text>"
    header = "<style:header><text:p>QX-7781</text:p></style:header>"
    assert read_odf(tmp_path / "a.odt", body, header) == [
        Element("text", "QX-7781"),
        Element("text", "The tower was built."),
        Element("text", "By Otto."),
        Element("text", "A box."),
        Element("table", rows=[["a", "b", "c"], ["", "", "3"]]),
    ]


def test_sheets_and_slides_of_open_document_files(tmp_path: Path) -> None:
    empty = odf_row("", properties=' table:number-rows-repeated="1048000"')
    empty = empty.replace("<table:table-cell>", '<table:table-cell table:number-columns-repeated="999">')
    sheet = f"{odf_row('Name', 'Price')}{odf_row('Lamp', '12,50<text:s/>€')}{empty}{odf_row('Bell &lt; 3', '3,00 €')}"
    slide = "<draw:frame><draw:text-box><text:p>It opens at 3 bar.</text:p></draw:text-box></draw:frame>"
    sheets = read_odf(tmp_path / "a.ods", f'<table:table table:name="Prices">{sheet}</table:table>')
    assert [(each.kind, each.text, each.number, each.rows) for each in sheets] == [
        ("sheet", "Prices", 0, ()),
        ("table", "", 1, [["Name", "Price"], ["Lamp", "12,50 €"]]),
        ("table", "", 1048002, [["Name", "Price"], ["Bell < 3", "3,00 €"]]),
    ]
    title = slide.replace("frame>", 'frame presentation:class="title">', 1).replace("It opens at 3 bar.", "Valves")
    slides = read_odf(tmp_path / "a.odp", f"<draw:page>{title}{slide}</draw:page><draw:page>{slide}</draw:page>")
    assert [(each.text, each.number) for each in slides] == [
        ("", 1),
        ("Valves", 1),
        ("It opens at 3 bar.", 0),
        ("", 2),
        ("It opens at 3 bar.", 0),
    ]


def test_names_over_several_columns_stand_before_those_below(tmp_path: Path) -> None:
    covered = "<table:covered-table-cell/>"
    head = odf_row("Town", "Rain").replace("cell><text:p>T", 'cell table:number-rows-spanned="2"><text:p>T')
    head = head.replace("cell><text:p>R", 'cell table:number-columns-spanned="2"><text:p>R')
    head = head.replace("</table:table-row>", f"{covered}</table:table-row>")
    second = odf_row("mm", "days").replace("row>", f"row>{covered}", 1)
    rows = [["Town", "Rain mm", "Rain days"], ["Brel", "12", "3"]]
    table = f"{head}{second}{odf_row('Brel', '12', '3')}"
    assert read_odf(tmp_path / "a.ods", f"<table:table>{table}</table:table>")[-1].rows == rows
    assert (
        read_odf(tmp_path / "a.odt", f"<office:text><table:table>{table}</table:table></office:text>")[-1].rows == rows
    )
    presentation: Any = pytest.importorskip("pptx").Presentation()
    shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
    cells = shapes.add_table(3, 3, 0, 0, 9, 9).table
    for at, text in enumerate(("Town", "Rain", "", "", "mm", "days", "Brel", "12", "3")):
        cells.cell(at // 3, at % 3).text = text
    cells.cell(0, 0).merge(cells.cell(1, 0))
    cells.cell(0, 1).merge(cells.cell(0, 2))
    presentation.save(tmp_path / "a.pptx")
    assert convert_document(tmp_path / "a.pptx").elements[-1].rows == rows


@pytest.mark.parametrize("kind", ["bar", "scatter", "surface"])
def test_charts_have_their_values_as_they_are_stored(tmp_path: Path, kind: str) -> None:
    data: Any = pytest.importorskip("pptx.chart.data")
    presentation: Any = import_module("pptx").Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    if kind == "scatter":
        values = data.XyChartData()
        points = values.add_series("Sales")
        points.add_data_point(2020, 1023)
        points.add_data_point(2021, 0.5)
        expected = [["", "Sales"], ["2020", "1023"], ["2021", "0.5"]]
    else:
        values = data.CategoryChartData()
        values.categories = ["North", "South"]
        values.add_series("Sales", (1023, None))
        values.add_series("Costs", (0.5, 3))
        expected = [["", "Sales", "Costs"], ["North", "1023", "0.5"], ["South", "", "3"]]
    types: Any = import_module("pptx.enum.chart").XL_CHART_TYPE
    slide.shapes.add_chart(types.XY_SCATTER if kind == "scatter" else types.COLUMN_CLUSTERED, 0, 0, 9, 9, values)
    presentation.save(tmp_path / "b.pptx")
    with ZipFile(tmp_path / "b.pptx") as source, ZipFile(tmp_path / "a.pptx", "w") as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name).replace(b"c:barChart", f"c:{kind}Chart".encode()))
    *_, table = convert_document(tmp_path / "a.pptx").elements
    assert table.rows == expected


def test_shapes_at_about_the_same_height_are_read_from_the_left(tmp_path: Path) -> None:
    presentation: Any = pytest.importorskip("pptx").Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    for left, top, text in ((9, 2_000_000, "third"), (1, 2_010_000, "second"), (5, 1_000_000, "first")):
        slide.shapes.add_textbox(left, top, 9, 9).text_frame.text = text
    etree: Any = import_module("lxml.etree")
    for box in list(slide.shapes):
        more = '<a:pPr><a:buAutoNum/></a:pPr><a:r><a:rPr baseline="30000"/><a:t>2</a:t></a:r>'
        more += "<a:oMath><a:t>E</a:t></a:oMath>"
        names = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
        choice = etree.fromstring(f"<a:AlternateContent {names}><a:Choice/>{more}</a:AlternateContent>")
        next(box.element.iter("{*}p")).extend(choice[1:])
        box.element.addprevious(choice)
        choice[0].append(box.element)
    presentation.save(tmp_path / "a.pptx")
    found = [each.text for each in convert_document(tmp_path / "a.pptx").elements[1:]]
    assert found == ["1. first² E", "1. second² E", "1. third² E"]


@pytest.mark.parametrize("chapter", ["<title/><script src='x'/>", "<title></title>"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_chapters_of_a_book_are_xhtml(tmp_path: Path, chapter: str, encoding: str) -> None:
    page = f'<?xml version="1.0" encoding="{encoding}"?><html xmlns="x"><head>{chapter}</head><body><h1/>'
    page += "<p>Über <ruby>Kiel<rt>kil</rt></ruby><sup><a href='notes.xhtml#1'>1</a></sup>.</p></body></html>"
    items = "".join(f'<item id="{each}" href="{each}.xhtml"/>' for each in "abc")
    spine = "".join(f'<itemref idref="{each}"/>' for each in "abc")
    contents = '<guide><reference type="toc" href="b.xhtml"/></guide>'
    package = f"<manifest>{items}</manifest><spine>{spine}</spine>{contents}"
    with ZipFile(tmp_path / "a.epub", "w") as archive:
        archive.writestr("META-INF/container.xml", '<container><rootfile full-path="a.opf"/></container>')
        archive.writestr("a.opf", f"<package>{package}</package>")
        archive.writestr("a.xhtml", page.encode(encoding))
        archive.writestr("b.xhtml", "<p>Contents</p>")
        archive.writestr("c.xhtml", "<p>It rains<a epub:type='noteref'>1</a>.</p>")
    assert [each.text for each in convert_document(tmp_path / "a.epub").elements] == ["Über Kiel.", "", "It rains."]


def test_an_odt_is_read_with_its_headings_lists_and_tables(tmp_path: Path) -> None:
    content = (
        '<text:h text:outline-level="2">Setup</text:h><text:p>Turn<text:s/>it <text:span>on</text:span>.'
        "<office:annotation><text:p>Really?</text:p></office:annotation></text:p>"
        "<text:table-of-content><text:p>Setup 3</text:p></text:table-of-content>"
        '<text:list text:style-name="L"><text:list-item><text:p>First</text:p></text:list-item></text:list>'
        f"<table:table>{odf_row(*'ab')}{odf_row(*'12')}</table:table>"
    )
    body = f"<office:body><office:text>{content}</office:text></office:body>"
    levels = '<text:list-level-style-number text:level="1"/>'
    assert read_odf(tmp_path / "a.odt", body, f'<text:list-style style:name="L">{levels}</text:list-style>') == [
        Element("heading", "Setup", 2),
        Element("text", "Turn it on."),
        Element("item", "1. First"),
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


PLAIN = "Content-Type: text/plain\n\n"
MSG = """eNq7cF7wwcKNUg8Z0IAdAzPDv/+cDGxIYoxAzATjCED4IPzv////ICEWIP4/CoYUOPjgx9v/Cgc+PHn69gEDGQCi//27j58+vAMaofBIwdDEwF
zh8bsnn/WI0X/gCVnWEg2YGf7ag9LwYxaGUYAFgPIuMh4FIwsEMeQDYQmDAoMrQx6QLmKoJCn9iDGwMsLMYiRFI1RxPBAWM5QyJAHJEoZ0BkMG
PQYDoJgBEBozmINpQ6DbcAEtBiaw/UzQuodY63kY8NtvCLbZgGj7mUmwH+R1GQZC/ncGsh2Jtp+FBPuZwOUiwv4CYKznA8lUIF3CkAmki4GiZW
B+MZCfD0wZEHdhAgOo/TBAXJnMgNUsMgHJ9lMZDGn7YeU+M5T9d7RIHFEAAJmpQuM="""


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        (f"alternative|{PLAIN}\n|Content-Type: text/html\n\n<p>It leaks.</p>", ["It leaks."]),
        (f"alternative|{PLAIN}See the page.|Content-Type: text/html\n\n<p>{'It leaks. ' * 9}</p>", ["It leaks. " * 9]),
        (f"alternative|{PLAIN}{('The tower is an old one. ' * 2).strip()}\n", ["The tower is an old one. " * 2]),
        (f"alternative|{PLAIN}Room 5|Content-Type: text/calendar\n\nBEGIN:VCALENDAR", ["Room 5"]),
        (
            f"mixed|{PLAIN}One.|Content-Type: image/png; name=a.png\n\nx|{PLAIN}Two.",
            ["One.", "Two.", "Attachments: a.png"],
        ),
        (
            f"mixed|{PLAIN}See:|Content-Type: message/rfc822\n\nSubject: Invoice 7\n{PLAIN}Pay.",
            ["See:", "Invoice 7", "Pay."],
        ),
    ],
)
def test_every_text_of_a_message_is_read(tmp_path: Path, body: str, texts: list[str]) -> None:
    kind, *parts = body.split("|")
    content = f"MIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary=B\n\n" + "".join(
        f"--B\n{each}\n" for each in parts
    )
    (tmp_path / "a.eml").write_text(f"{content}--B--\n")
    assert [each.text for each in convert_document(tmp_path / "a.eml").elements] == [each.strip() for each in texts]


@pytest.mark.parametrize("content", ["Subject: Größe".encode("cp1252"), b"\xef\xbb\xbfSubject: Gr\xc3\xb6\xc3\x9fe"])
def test_headers_in_other_encodings_than_they_may_be_are_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.eml").write_bytes(content + b"\n\nHello.")
    assert convert_document(tmp_path / "a.eml").title == "Größe"


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (r"\ansi\ansicpg932 \'93\'8c\'8b\'9e\'83e\'83X\'83g", ["東京テスト"]),
        (r"\mac caf\'8e", ["café"]),
        (r"\ansi shown {\v hidden}{\deleted gone}", ["shown"]),
        (r"\ansi\trowd\intbl A\cell B\cell\row\trowd\intbl 1\cell one\par two\cell\row", ["A B 1 one two"]),
    ],
)
def test_rtf_is_read_in_its_encoding_without_what_is_hidden(tmp_path: Path, content: str, texts: list[str]) -> None:
    pytest.importorskip("striprtf")
    (tmp_path / "a.rtf").write_text(f"{{\\rtf1{content}\\par}}")
    assert [join_text([each]) for each in convert_document(tmp_path / "a.rtf").elements] == texts


@pytest.mark.parametrize(
    ("charset", "content"),
    [
        ("x-unknown", b"Tr\xe8s chaud"),
        ("iso-8859-1", b"5 \x80 \x96 cheap"),
        ("utf-8", "Über".encode()),
        ("", b"Tr\xe8s"),
    ],
)
def test_a_message_is_read_in_its_encoding_or_the_likeliest(tmp_path: Path, charset: str, content: bytes) -> None:
    named = f"; charset={charset}" if charset else ""
    (tmp_path / "a.eml").write_bytes(f"Content-Type: text/plain{named}\n\n".encode() + content)
    expected = content.decode() if charset == "utf-8" else content.decode("cp1252")
    assert convert_document(tmp_path / "a.eml").elements == [Element("text", expected)]


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("a.msg", zlib.decompress(b64decode(MSG)), ["Башня Ардена", "From: Ада", "Башня построена в 1407 году."]),
        (
            "a.mbox",
            f"From a 9:00\nSubject: A\n\nIt rains.\n>From here.\n\nFrom b\n{PLAIN}It snows.",
            ["", "A", "It rains.\nFrom here.", "", "It snows."],
        ),
        ("a.mht", f"Subject: A\n{PLAIN.replace('plain', 'html')}<h1>B</h1>It rains.", ["B", "It rains."]),
    ],
)
def test_mailboxes_and_files_of_other_programs_are_read(
    tmp_path: Path, name: str, content: Any, texts: list[str]
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    found = [each.text for each in convert_document(tmp_path / name).elements]
    assert found == texts
