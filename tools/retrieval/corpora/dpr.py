"""DPR's `psgs_w100.tsv`: a line for each passage, with id, text and title between tabs."""

import csv
from collections.abc import Iterator
from pathlib import Path

from hopgraph.tools.retrieval.corpora.source_records import CorpusReading, SourceRecord

COLUMNS = ["id", "text", "title"]


def has_dpr_header(path: Path) -> bool:
    """Whether the first line of a file names DPR's columns.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        line = file.readline(200).decode("utf-8-sig", errors="replace")
    return line.strip().replace('"', "").split("\t") == COLUMNS


def read_dpr(path: Path, reading: CorpusReading) -> Iterator[SourceRecord]:
    """Read passages; a field in quotation marks has its own ones doubled.

    Each line is read by itself, so that a stray quotation mark spoils no more than its own line.

    Raises:
        BadRecordError: a line without exactly three fields or not in UTF-8, unless bad records are skipped.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            reading.bytes_read += len(line)
            try:
                columns = _columns(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as error:
                reading.reject(path, number, f"byte {error.start + 1} of the line is not UTF-8")
                continue
            except csv.Error as error:
                reading.reject(path, number, f"not tab-separated fields: {error}")
                continue
            if not columns or (number == 1 and columns == COLUMNS):
                continue
            if len(columns) != len(COLUMNS):
                reading.reject(path, number, f"expected 3 fields (id, text, title), found {len(columns)}")
                continue
            yield SourceRecord(columns[0], columns[2], columns[1], path, number)


def _columns(line: str) -> list[str]:
    rows = list(csv.reader([line.rstrip("\r\n")], delimiter="\t", strict=True))
    return rows[0] if rows else []
