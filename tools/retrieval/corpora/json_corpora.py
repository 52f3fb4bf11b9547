"""Corpora in JSON: BEIR's passages, and question sets whose contexts are pooled into one corpus."""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

from hopgraph.tools.retrieval.corpora.json_values import read_json_values
from hopgraph.tools.retrieval.corpora.question_contexts import Object, Paragraph
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading, MalformedError, SourceRecord


def read_beir(path: Path, reading: CorpusReading) -> Iterator[SourceRecord]:
    """Read passages with `_id` (or `id`), `title` and `text`; the title may be missing.

    Raises:
        BadRecordError: a record of another shape, unless bad records are skipped.
        OSError: the file cannot be read.
    """
    for line, value in read_json_values(path, reading):
        try:
            if not isinstance(value, dict):
                raise MalformedError(f"expected an object, found a {type(value).__name__}")
            yield _passage(value, path, line)
        except MalformedError as error:
            reading.reject(path, line, str(error))


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
    return SourceRecord(name, title or "", text, path, line)


def read_pooled(
    path: Path, reading: CorpusReading, paragraphs_of: Callable[[Object], Iterator[Paragraph]]
) -> Iterator[SourceRecord]:
    """Read the paragraphs of all questions, each title with its text once, with the ids of `hash_passage`.

    Paragraphs without text, which some data sets have, are left out.

    Raises:
        BadRecordError: a question of another shape, unless bad records are skipped.
        OSError: the file cannot be read.
    """
    seen: set[str] = set()
    for line, value in read_json_values(path, reading):
        try:
            if not isinstance(value, dict):
                raise MalformedError(f"expected a question, found a {type(value).__name__}")
            paragraphs = list(paragraphs_of(value))
        except MalformedError as error:
            reading.reject(path, line, str(error))
            continue
        for title, text in paragraphs:
            name = hash_passage(title, text)
            if text and name not in seen:
                seen.add(name)
                yield SourceRecord(name, title, text, path, line)


def hash_passage(title: str, text: str) -> str:
    """Make the id of a pooled paragraph: 20 hexadecimal digits that depend on nothing but title and text."""
    content = f"{title}\0{text}".encode(errors="surrogatepass")
    return blake2b(content, digest_size=10).hexdigest()
