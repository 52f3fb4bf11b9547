"""Corpora by record: BEIR's and DPR's passages, and question sets whose contexts are pooled into one corpus."""

import csv
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from hopgraph.tools.retrieval.corpora.json_values import read_json_values
from hopgraph.tools.retrieval.corpora.question_contexts import Object, Paragraph
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading, MalformedError, SourceRecord, read_lines
from hopgraph.tools.retrieval.passage_metadata import plain_metadata

DPR_COLUMNS = ["id", "text", "title"]


def read_beir(path: Path, reading: CorpusReading) -> Iterator[SourceRecord]:
    """Read passages with `_id` (or `id`), `title`, `text` and an object `metadata`; it and the title may be missing."""
    return _read_objects(path, reading, lambda value, line: [_passage(value, path, line)])


def _read_objects(
    path: Path, reading: CorpusReading, records_of: Callable[[Object, int], Iterable[SourceRecord]]
) -> Iterator[SourceRecord]:
    for line, value in read_json_values(path, reading):
        try:
            if not isinstance(value, dict):
                raise MalformedError(f"expected an object, found a {type(value).__name__}")
            records = list(records_of(value, line))
        except MalformedError as error:
            reading.reject(path, line, str(error))
        else:
            yield from records


def _passage(value: Object, path: Path, line: int) -> SourceRecord:
    name = value.get("_id", value.get("id"))
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not name.strip():
        raise MalformedError("_id is missing, blank or not text")
    title, text = value.get("title"), value.get("text")
    if not isinstance(text, str):
        raise MalformedError("text is missing or not text")
    if title is not None and not isinstance(title, str):
        raise MalformedError("title is not text")
    metadata = value.get("metadata")
    carried = plain_metadata(metadata) if isinstance(metadata, dict) else {}
    return SourceRecord(name, title or "", text, path, line, carried)


def read_pooled(
    path: Path, reading: CorpusReading, paragraphs_of: Callable[[Object], Iterator[Paragraph]]
) -> Iterator[SourceRecord]:
    """Read the paragraphs of all questions, each title with its text once, with the ids of `hash_passage`.

    Paragraphs without text, which some data sets have, are left out.
    """
    seen: set[str] = set()

    def new_paragraphs(question: Object, line: int) -> Iterator[SourceRecord]:
        for title, text in list(paragraphs_of(question)):  # a bad one spoils its question before any is noted
            name = hash_passage(title, text)
            if text and name not in seen:
                seen.add(name)
                yield SourceRecord(name, title, text, path, line)

    return _read_objects(path, reading, new_paragraphs)


def read_dpr(path: Path, reading: CorpusReading) -> Iterator[SourceRecord]:
    """Read DPR's `psgs_w100.tsv`: id, text and title between tabs; a field in quotation marks has its own ones doubled.

    Each line is read by itself, so that a stray quotation mark spoils no more than its own line.
    """
    for number, line in read_lines(path, reading):
        try:
            (columns,) = csv.reader([line.rstrip("\r\n")], delimiter="\t", strict=True)
        except csv.Error as error:
            reading.reject(path, number, f"not tab-separated fields: {error}")
            continue
        if len(columns) not in (0, len(DPR_COLUMNS)):
            reading.reject(path, number, f"expected 3 fields (id, text, title), found {len(columns)}")
        elif columns and not (number == 1 and columns == DPR_COLUMNS):
            yield SourceRecord(columns[0], columns[2], columns[1], path, number)


def hash_passage(title: str, text: str) -> str:
    """Make the id of a pooled paragraph: 20 hexadecimal digits that depend on nothing but title and text."""
    content = f"{title}\0{text}".encode(errors="surrogatepass")
    return blake2b(content, digest_size=10).hexdigest()
