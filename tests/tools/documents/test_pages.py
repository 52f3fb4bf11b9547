"""PDF, page by page, on files that are written here."""

from pathlib import Path
from textwrap import wrap
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from hopgraph.state import SettingsError
from hopgraph.tools.documents.conversion import convert_document
from hopgraph.tools.documents.elements import Element, UnreadableFileError, format_table
from hopgraph.tools.documents.pdf import find_tessdata
from support.made_documents import draw_pdf, make_pdf

pytest.importorskip("liteparse")


def read(path: Path, pages: list[str]) -> list[Element]:
    path.write_bytes(make_pdf(pages))
    return convert_document(path).elements


def test_a_sentence_that_goes_on_on_the_next_page_is_whole_where_it_begins(tmp_path: Path) -> None:
    pages = ["The contract between Orm and the harbour of Brel", "ends on 3 May 2031. It was signed in Karsk."]
    assert read(tmp_path / "a.pdf", pages) == [
        Element("page", "", 1),
        Element("text", "The contract between Orm and the harbour of Brel ends on 3 May 2031."),
        Element("page", "", 2),
        Element("text", "It was signed in Karsk."),
    ]


@pytest.mark.parametrize(
    "pages",
    [
        ["The contract was made between the", "town of Arden, the mason Otto and the", "mill of Brel. It holds."],
        ["The contract was made between the town of Arden and", "Otto, the mason, and the mill of", "Brel. It holds."],
    ],
)
def test_a_sentence_may_run_over_three_pages_and_go_on_with_a_name(tmp_path: Path, pages: list[str]) -> None:
    whole = " ".join(pages).removesuffix(" It holds.")
    assert whole in [each.text for each in read(tmp_path / "a.pdf", pages)]


def test_justified_prose_in_a_narrow_column_is_no_table(tmp_path: Path) -> None:
    prose = (
        "The tower of Arden was built in 1407 by Otto the Mason, who came from Brel with forty men and a cart of "
        "tools. It took them nine years to raise the walls above the river, because the spring floods carried away "
        "the scaffold twice. When the work was done the town held a feast of seven days, and the bell was rung."
    )
    placed = list[tuple[float, float, str]]()
    for number, line in enumerate(wrap(prose, 28)):
        words, at = line.split(), 60.0
        gap = (190 - 6 * sum(map(len, words))) / max(1, len(words) - 1)
        for word in words:
            placed.append((at, 700 - 14 * number, word))
            at += 6 * len(word) + gap
    said = texts(tmp_path / "a.pdf", [placed])
    assert not any("|" in each for each in said)
    assert "who came from Brel with forty men and a cart of tools" in " ".join(said)


def test_words_hyphenated_at_line_ends_are_joined(tmp_path: Path) -> None:
    line = "The committee of the town recommended last week in the hall the swift renew"
    assert len(line) < 80
    text = f"{line}-".ljust(80) + "al of the agreement with the harbour."
    assert "renewal of the agreement" in " ".join(each.text for each in read(tmp_path / "a.pdf", [text]))


def test_lines_that_repeat_at_the_edges_of_pages_stand_once(tmp_path: Path) -> None:
    def page(number: int) -> str:
        body = f"Fact {number} of the lighthouse is that lamp {'abcdefgh'[number]} burns."
        gap = [""] * 4
        lines = ("ORM SHIPPING CONFIDENTIAL", *gap, body, *gap, f"Page {number} of 6")
        return "".join(each.ljust(80) for each in lines)

    found = read(tmp_path / "a.pdf", [page(number) for number in range(6)])
    said = " ".join(each.text for each in found)
    assert said.count("Fact") == 6
    assert said.count("CONFIDENTIAL") == 1
    assert said.count("of 6") == 1


def test_pages_without_text_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(make_pdf(["Only this page has text.", "", ""]))
    (note,) = convert_document(tmp_path / "a.pdf").notes
    assert note.startswith("2 of 3 pages have no text: 2, 3; --ocr ")


def test_what_stands_before_the_head_of_a_file_is_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"\r\n\r\n" + make_pdf(["It rains."]))
    assert [each.text for each in convert_document(tmp_path / "a.pdf").elements] == ["", "It rains."]


def texts(path: Path, pages: list[list[tuple[float, float, str]]]) -> list[str]:
    found = convert_document(draw_pdf(path, pages)).elements
    return [each.text or format_table(each.rows) for each in found if each.kind != "page"]


def grid(rows: list[list[str]], top: float, apart: float = 150) -> list[tuple[float, float, str]]:
    return [(80 + apart * at, top - 24 * down, cell) for down, row in enumerate(rows) for at, cell in enumerate(row)]


def test_a_table_without_rules_is_no_columns_of_text(tmp_path: Path) -> None:
    details = [["Invoice number", "INV-0042"], ["Date", "12.03.2024"], ["Customer", "007123"], ["Due", "11.04.2024"]]
    (found,) = texts(tmp_path / "a.pdf", [grid(details, 780, 330)])
    assert "| Customer | 007123 |" in found


def test_the_last_cell_of_a_table_without_rules_may_go_on(tmp_path: Path) -> None:
    rows = [["Part", "Use", "Count"], ["NP-1", "cold water", "5"], ["NP-2", "hot water and", "7"]]
    rest = [(230.0, 720.0, "the steam of the"), (230.0, 708.0, "new boilers")]
    (found,) = texts(tmp_path / "a.pdf", [[*grid(rows, 780), *rest]])
    assert "| NP-2 | hot water and the steam of the new boilers | 7 |" in found


def test_a_centered_title_is_no_part_of_the_heading_below_it(tmp_path: Path) -> None:
    body = [(80, 640 - 14 * line, f"Line {line} says that it rains in Brel and nobody goes out.") for line in range(19)]
    found = convert_document(
        draw_pdf(tmp_path / "a.pdf", [[(270, 720, "Manual", 24), (80, 680, "Safety first", 24), *body]])
    )
    assert found.title == "Manual"
    assert [each.text for each in found.elements if each.kind == "heading"] == ["Manual", "Safety first"]


def test_what_is_cut_off_a_page_is_not_read(tmp_path: Path) -> None:
    content = make_pdf(["It rains.".ljust(800) + "It snows."]).replace(b"[0 0 595 842]", b"[0 775 595 842]")
    (tmp_path / "a.pdf").write_bytes(content)
    assert [each.text for each in convert_document(tmp_path / "a.pdf").elements] == ["", "It rains."]


def test_a_table_keeps_its_names_on_the_next_page(tmp_path: Path) -> None:
    rows = [["Part", "Pressure", "Weight"], *([f"NP-{n}", f"{n} bar", f"{n} kg"] for n in range(1, 41))]
    first, second = texts(tmp_path / "a.pdf", [grid(rows[:20], 780), grid(rows[20:], 780)])
    names = "| Part | Pressure | Weight |\n|---|---|---|\n"
    assert first.startswith(f"{names}| NP-1 | 1 bar | 1 kg |")
    assert second.startswith(f"{names}| NP-20 | 20 bar | 20 kg |")


def test_a_number_goes_on_on_the_next_page_below_a_page_number(tmp_path: Path) -> None:
    def page(number: int, text: str) -> list[tuple[float, float, str]]:
        return [(80, 810, "Orm Shipping"), (80, 700, text), (300, 30, str(number))]

    said = ["The lease of the harbour runs until", "31 May 2031 and ends then.", "Nobody objected.", "All agreed."]
    found = texts(tmp_path / "a.pdf", [page(number, text) for number, text in enumerate(said, 1)])
    assert "The lease of the harbour runs until 31 May 2031 and ends then." in found
    assert found.count("Orm Shipping") == 1


def test_what_was_typed_or_ticked_on_a_page_is_read(tmp_path: Path) -> None:
    field = "<< /Type /Annot /Subtype /Widget /FT /Btn /T (a) /V /Off /AS /Off /Rect [40 765 46 771] >>"
    value = "<< /Type /Annot /Subtype /Widget /FT /Tx /T (b) /TU (Name) /V (Ada) /Rect [300 700 400 720] >>"
    note = "<< /Type /Annot /Subtype /FreeText /Contents (Paid.) /Rect [300 600 400 620] >>"
    extra = f"/Annots [{field} {value} {note}]"
    content = make_pdf(["It rains.".ljust(80) + "By mail".ljust(80) + "It snows."], page=extra)
    form = f"/Pages 2 0 R /AcroForm << /Fields [{field} {value}] >>"
    (tmp_path / "a.pdf").write_bytes(content.replace(b"/Pages 2 0 R", form.encode()))
    found = " ".join(each.text for each in convert_document(tmp_path / "a.pdf").elements)
    assert found.strip() == "It rains. ☐ By mail It snows. Name: Ada Paid."


def test_raised_figures_are_powers_or_marks_of_footnotes(tmp_path: Path) -> None:
    line = [(80, 700, "It needs 10"), (142, 704, "2", 7), (150, 700, "m of rope in Arden."), (249, 704, "3", 7)]
    found = convert_document(draw_pdf(tmp_path / "a.pdf", [[*line, (266, 700, "It rains.")]])).elements[-1].text
    assert found == "It needs 10² m of rope in Arden. It rains."


def test_marks_and_numbers_of_hebrew_stand_behind_its_words(tmp_path: Path) -> None:
    shown = "\u05d7\u05d5\u05d6\u05d4 \u05e0\u05d7\u05ea\u05dd \u05d1-3 \u05d1\u05de\u05e8\u05e5 2024."
    (found,) = texts(tmp_path / "a.pdf", [[(80, 700, shown)]])
    assert found == shown


def test_a_scanned_page_is_read_by_tesseract(tmp_path: Path) -> None:
    try:
        find_tessdata("eng")
    except SettingsError:
        pytest.skip("needs the extra ocr")
    scan: Any = Figure(figsize=(8, 2), dpi=150)
    scan.text(0.1, 0.5, "The invoice number is 20240042.", fontsize=24)
    scan.savefig(tmp_path / "scan.png")
    page: Any = Figure(figsize=(8, 2))
    page.figimage(imread(tmp_path / "scan.png"), resize=True)
    page.savefig(tmp_path / "a.pdf")
    with pytest.raises(UnreadableFileError, match="1 of 1 pages has no text; --ocr eng"):
        convert_document(tmp_path / "a.pdf")
    found = convert_document(tmp_path / "a.pdf", "eng").elements
    assert "invoice number is 20240042" in found[-1].text
