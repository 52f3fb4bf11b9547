"""Documents that cannot be read, or should not be."""

import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.documents import conversion, pdf
from hopgraph.tools.documents.conversion import DocumentConverter, convert_document
from hopgraph.tools.documents.elements import Element, UnreadableFileError
from hopgraph.tools.retrieval import build_index
from support.made_documents import Part, make_pdf, write_document

PARTS = [Part("Vacation", "Everyone gets thirty days.")]
ENCRYPTED = "/Encrypt << /Filter /Standard /V 1 /R 2 /O <{0}> /U <{0}> /P -4 >> /ID [<00> <00>]".format("41" * 32)


def bomb(path: Path) -> None:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(20 << 20))


def many_files(path: Path) -> None:
    with ZipFile(path, "w") as archive:
        for number in range(201):
            archive.writestr(str(number), b"")


def written(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "write", "reason"),
    [
        ("scan.pdf", written(make_pdf(["", ""])), "2 of 2 pages have no text"),
        ("locked.pdf", written(make_pdf(["Secret."], ENCRYPTED)), "is encrypted"),
        ("broken.pdf", written(make_pdf(["Text."])[:40]), "is damaged, or not a PDF"),
        ("long.pdf", written(make_pdf(["a"] * 40)), "more than 30 pages"),
        ("locked.docx", written(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(5000)), "is encrypted or in an older"),
        ("broken.xlsx", written(b"PK\x03\x04 and no more"), "is damaged, or its format"),
        ("bomb.docx", bomb, "unpacks to 20,971,520 bytes"),
        ("many.epub", many_files, "in 201 files"),
        ("large.html", written(bytes(2 << 20)), "more than 1 MiB"),
        ("attributes.html", written(b"<p " + b"a=b " * 3000), "more than 2,000 attributes"),
        ("no.eml", written(b"\n"), "is not a message"),
        ("no.msg", written(b"A text."), "not an Outlook message"),
        ("no.rtf", written(b"A text."), "it is not RTF"),
        ("code.rtf", written(rb"{\rtf1\ansi \u99999999?}"), "is damaged"),
    ],
)
def test_what_is_refused_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, write: Callable[[Path], object], reason: str
) -> None:
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr(pdf, "MAX_PDF_PAGES", 30)
    for limit, value in (("_MAX_ENTRIES", 200), ("_MAX_FILE", 1 << 20)):
        monkeypatch.setattr(conversion, limit, value)
    write(tmp_path / name)
    with pytest.raises(UnreadableFileError, match=reason):
        convert_document(tmp_path / name)


def test_rtf_keeps_its_paragraphs_and_characters(tmp_path: Path) -> None:
    pytest.importorskip("striprtf")
    (tmp_path / "a.rtf").write_bytes(
        rb"{\rtf1\ansi\ansicpg1252 Caf\'e9 \u-10179?\u-8704?\par \b Next\b0  \u8364?.\par}"
    )
    assert convert_document(tmp_path / "a.rtf").elements == [
        Element("text", "Café \U0001f600"),
        Element("text", "Next €."),
    ]


def test_notes_boxes_and_margins_of_rtf_stand_behind_its_text_and_no_addresses_in_it(tmp_path: Path) -> None:
    pytest.importorskip("striprtf")
    link = rb'{\field{\*\fldinst HYPERLINK "http://x.org"}{\fldrslt the guide}}'
    note, box = rb"{\footnote By \{Otto\}.}", rb"{\shp{\*\shpinst{\shptxt A box.}}}"
    content = rb"{\rtf1\ansi{\headerl QX-7781}The tower" + note + b" is old, see " + link + b"." + box + rb"\par Next.}"
    (tmp_path / "a.rtf").write_bytes(content)
    assert [each.text for each in convert_document(tmp_path / "a.rtf").elements] == [
        "The tower is old, see the guide.",
        "Next.",
        "QX-7781",
        "By {Otto}.",
        "A box.",
    ]


@pytest.mark.slow
def test_a_file_that_takes_too_much_ends_its_process_and_no_other(tmp_path: Path) -> None:
    pytest.importorskip("liteparse")
    file = write_document(tmp_path / "a.docx", "Handbook", PARTS)
    deep = tmp_path / "deep.html"
    deep.write_text("<div>" * 80_000)  # takes as many seconds as its depth squared
    for seconds, memory in ((1, 4 << 30), (60, 64 << 20)):
        with (
            DocumentConverter(seconds, memory) as small,
            pytest.raises(UnreadableFileError, match=r"takes (more than|too much memory)"),
        ):
            small.convert(deep)
    (tmp_path / "cut.docx").write_bytes(file.read_bytes()[:300])
    with DocumentConverter() as converter:
        with pytest.raises(UnreadableFileError, match="damaged"):
            converter.convert(tmp_path / "cut.docx", tmp_path / "missing.docx")
        with pytest.raises(UnreadableFileError, match="cannot be read: No such file"):
            converter.convert(tmp_path / "missing.docx", deep)
        # It does not wait for what was begun in vain.
        assert [each[:3] for each in converter.convert(file).elements] == [
            ("heading", "Handbook", 2),
            ("heading", "Vacation", 3),
            ("text", "Everyone gets thirty days.", 0),
        ]


def test_a_process_that_cannot_start_is_no_fault_of_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_document(tmp_path / "a.docx", "Handbook", PARTS)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(SettingsError, match="python cannot be started: No such file"):
        build_index(tmp_path, tmp_path / "index", skip_invalid=True)
