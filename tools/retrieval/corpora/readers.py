"""Corpora by record: BEIR's and DPR's passages, and question sets whose contexts are pooled into one corpus."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

from pydantic import JsonValue

from hopgraph.tools.retrieval.corpora.json_values import read_json_values
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading, MalformedError, SourceRecord, read_lines
from hopgraph.tools.retrieval.passage_metadata import plain_metadata

Object = Mapping[str, JsonValue]


Paragraph = tuple[str, str]
"""A title and a text, without an id of their own."""


def read_hotpotqa_context(question: Object) -> Iterator[Paragraph]:
    """Read `context` of HotpotQA and 2WikiMultihopQA: (title, sentences) pairs, or two parallel lists."""
    for title, sentences in split_hotpotqa_context(question):
        yield title, join_sentences(sentences)


def split_hotpotqa_context(question: Object) -> Iterator[tuple[str, list[str]]]:
    """Read `context` as `read_hotpotqa_context` does: each title with its sentences, as the data set splits them."""
    context = question.get("context")
    if isinstance(context, dict):
        titles, paragraphs = (_list(context, key) for key in ("title", "sentences"))
        if len(titles) != len(paragraphs):
            raise MalformedError(f"context has {len(titles)} titles but {len(paragraphs)} paragraphs")
        pairs: list[JsonValue] = [[title, sentences] for title, sentences in zip(titles, paragraphs, strict=True)]
    else:
        pairs = _list(question, "context")
    for number, pair in enumerate(pairs, 1):
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], list)):
            raise MalformedError(f"paragraph {number} of context is not a title with a list of sentences")
        sentences = [_string(sentence, f"a sentence of paragraph {number}") for sentence in pair[1]]
        yield _string(pair[0], f"the title of paragraph {number}"), sentences


def join_sentences(sentences: list[str]) -> str:
    """Join a paragraph's sentences: HotpotQA's carry the spaces between them, 2WikiMultihopQA's do not."""
    spaced = any(sentence[:1].isspace() for sentence in sentences[1:])
    return ("" if spaced else " ").join(sentences).strip()


def read_titled_paragraphs(question: Object, key: str, text_key: str) -> Iterator[Paragraph]:
    """Read a list of objects with `title` and `text_key`: `paragraphs` of MuSiQue, `ctxs` of sets in DPR's form."""
    for number, paragraph in enumerate(_list(question, key), 1):
        if not isinstance(paragraph, dict):
            raise MalformedError(f"paragraph {number} of {key} is not an object")
        text = _string(paragraph.get(text_key), f"{text_key} of paragraph {number}")
        title = paragraph.get("title")
        yield "" if title is None else _string(title, f"title of paragraph {number}"), text.strip()


def _list(value: Object, key: str) -> list[JsonValue]:
    found = value.get(key)
    if not isinstance(found, list):
        raise MalformedError(f"{key} is missing or not a list")
    return found


def _string(value: JsonValue, name: str) -> str:
    if not isinstance(value, str):
        raise MalformedError(f"{name} is {'missing' if value is None else f'a {type(value).__name__}'}, not text")
    return value


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
