"""Small documents that are large to read, of each kind that is unpacked: read or refused in one line, within limits."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from hopgraph.tools.documents.conversion import DocumentConverter
from hopgraph.tools.documents.elements import UnreadableFileError

pytest.importorskip("pypdfium2", reason="needs hopgraph[documents]")
MEGABYTE = 1 << 20
SECONDS, MEMORY = 60, 2 << 30
MAIN = {
    ".docx": "word/document.xml",
    ".xlsx": "xl/workbook.xml",
    ".epub": "META-INF/container.xml",
    ".pptx": "ppt/presentation.xml",
    ".odt": "content.xml",
}


@pytest.fixture(scope="module")
def converter() -> Iterator[DocumentConverter]:
    with DocumentConverter(SECONDS, MEMORY) as opened:
        yield opened


def archive(place: Path, entries: dict[str, bytes]) -> None:
    with ZipFile(place, "w", ZIP_DEFLATED) as packed:
        for name, content in entries.items():
            packed.writestr(name, content)


def blanks(place: Path) -> None:
    size = 520 if place.suffix == ".docx" else 32  # more than any archive may have, or only than one so small
    archive(place, {MAIN[place.suffix]: b"<a>" + b" " * size * MEGABYTE + b"</a>"})


def entries(place: Path) -> None:
    archive(place, {MAIN[place.suffix]: b"<a/>", **{f"media/{number}": b"" for number in range(20_001)}})


def lying(place: Path) -> None:
    """State one byte of an entry that unpacks to many."""
    content = b"<a>" + b" " * 64 * MEGABYTE + b"</a>"
    archive(place, {MAIN[place.suffix]: content})
    size = len(content).to_bytes(4, "little")
    place.write_bytes(place.read_bytes().replace(size, (1).to_bytes(4, "little")))


def nested(place: Path) -> None:
    archive(place, {MAIN[place.suffix]: b"<a>" * 100_000 + b"</a>" * 100_000})


def entities(place: Path) -> None:
    doubled = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    text = f'<!DOCTYPE a [<!ENTITY l0 "rain">{doubled}]><a>&l11;</a>'
    archive(place, {MAIN[place.suffix]: text.encode()})


@pytest.mark.slow
@pytest.mark.parametrize("suffix", MAIN)
@pytest.mark.parametrize("make", [blanks, entries, lying, nested, entities], ids=lambda each: each.__name__)
def test_an_archive_that_unpacks_to_much(
    converter: DocumentConverter, tmp_path: Path, make: Callable[[Path], None], suffix: str
) -> None:
    place = tmp_path / f"a{suffix}"
    make(place)
    assert place.stat().st_size < 4 * MEGABYTE
    with pytest.raises(UnreadableFileError) as refused:
        converter.convert(place)
    assert "takes more than" not in str(refused.value)  # told before the limits on time and memory are reached
    assert "\n" not in str(refused.value)


def sheet(place: Path, cells: Iterable[str]) -> Path:
    book: Any = import_module("openpyxl").Workbook()
    for each in cells:
        book.active[each] = "rain"
    book.save(place)
    return place


@pytest.mark.slow
def test_a_sheet_that_is_mostly_empty(tmp_path: Path) -> None:
    corners = sheet(tmp_path / "a.xlsx", ["A1", "XFD1048576"])
    wide = sheet(tmp_path / "b.xlsx", (f"XFD{number}" for number in range(1, 30_000)))
    with DocumentConverter(SECONDS, MEMORY // 4) as converter:
        assert "rain" in str(converter.convert(corners).elements)
        with pytest.raises(UnreadableFileError, match=r"^it takes too much memory$"):
            converter.convert(wide)


def pdf(place: Path, pages: int, content: bytes) -> None:
    kids = " ".join(f"{number + 4} 0 R" for number in range(pages))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(content), content),
        *[b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 3 0 R >>"] * pages,
    ]
    written, places = b"%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = "".join(f"{each:010} 00000 n \n" for each in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>"
    place.write_bytes(written + f"{end}\nstartxref\n{len(written)}\n%%EOF".encode())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pages", "text", "times"),
    [(6_000, b"BT ET", 1), (1, b" ", 512 * MEGABYTE), (1, b"q ", 30_000_000)],
    ids=["pages", "content", "operators"],
)
def test_a_pdf_of_much(converter: DocumentConverter, tmp_path: Path, pages: int, text: bytes, times: int) -> None:
    place = tmp_path / "a.pdf"
    pdf(place, pages, zlib.compress(text * times, 1))
    assert place.stat().st_size < 3 * MEGABYTE
    with pytest.raises(UnreadableFileError) as refused:
        converter.convert(place)
    assert "\n" not in str(refused.value)
    other = tmp_path / "b.html"
    other.write_text("<p>Rain falls on the western coast of the country today.</p>")
    assert "Rain falls" in str(converter.convert(other).elements)
