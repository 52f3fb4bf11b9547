"""PDF, page by page, on files that are written here."""

from pathlib import Path

import pytest

from hopgraph.tools.documents.conversion import convert_document
from hopgraph.tools.documents.elements import Element
from support.made_documents import make_pdf

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
    assert note.startswith("2 of 3 pages have no text")
    assert note.endswith(": 2, 3")


def test_what_stands_before_the_head_of_a_file_is_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"\r\n\r\n" + make_pdf(["It rains."]))
    assert [each.text for each in convert_document(tmp_path / "a.pdf").elements] == ["", "It rains."]
