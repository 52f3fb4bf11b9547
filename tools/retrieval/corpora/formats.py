"""Detect and read corpora: passage collections, pooled contexts of question sets, and documents."""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import islice, zip_longest
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from hopgraph.state import BadRecordError, CorpusError, SettingsError
from hopgraph.state.errors import did_you_mean
from hopgraph.tools.documents.conversion import suffix_of
from hopgraph.tools.documents.elements import Element
from hopgraph.tools.documents.encodings import open_binary
from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.retrieval.corpora.chunking import ChunkOptions, split_blocks
from hopgraph.tools.retrieval.corpora.data_formats import read_data_formats, recognize
from hopgraph.tools.retrieval.corpora.plain_formats import JSON, split_contents
from hopgraph.tools.retrieval.corpora.source_records import (
    CorpusReading,
    MalformedError,
    SourceRecord,
    read_first_bytes,
    read_json_values,
    read_lines,
)
from hopgraph.tools.retrieval.corpora.text_files import (
    SUFFIXES,
    can_read,
    count_unread,
    describe_unread,
    link_error,
    list_files,
    read_text_files,
    readable_suffixes,
    relative_name,
)
from hopgraph.tools.retrieval.passage_metadata import plain_metadata
from hopgraph.tools.text.sanitize import pluralize

DPR_COLUMNS = ["id", "text", "title"]
Object = Mapping[str, JsonValue]
Paragraph = tuple[str, str]
"""Title and text of a passage without an id."""
PARAGRAPH_FIELDS = "paragraphs", "ctxs", "contexts"
"""Possible fields for the passages of a question."""
TEXT_FIELDS = "text", "paragraph_text"
"""Possible fields for the text of such a passage."""
_MAX_TITLE = 200  # characters; a longer first line is text


def read_hotpotqa_context(question: Object) -> Iterator[Paragraph]:
    """Read `context` of HotpotQA and 2WikiMultihopQA: (title, sentences) pairs, or two parallel lists."""
    for title, sentences in split_hotpotqa_context(question):
        yield title, join_sentences(sentences)


def split_hotpotqa_context(question: Object) -> Iterator[tuple[str, list[str]]]:
    """Yield each title of `context` with the list of its sentences."""
    context = question.get("context")
    if isinstance(context, str):  # in an edition on the Hugging Face Hub
        with suppress(ValueError):
            context = cast("JsonValue", json.loads(context))
    if isinstance(context, dict):
        titles, paragraphs = (_list(context, key) for key in ("title", "sentences"))
        if len(titles) != len(paragraphs):
            raise MalformedError(f"context has {len(titles)} titles but {len(paragraphs)} paragraphs")
        pairs: list[JsonValue] = [[title, sentences] for title, sentences in zip(titles, paragraphs, strict=True)]
    else:
        pairs = _list({"context": context}, "context")
    for number, pair in enumerate(pairs, 1):
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], list)):
            raise MalformedError(f"paragraph {number} of context is not a title with a list of sentences")
        sentences = [_string(sentence, f"a sentence of paragraph {number}") for sentence in pair[1]]
        yield _string(pair[0], f"the title of paragraph {number}"), sentences


def join_sentences(sentences: list[str]) -> str:
    """Join a paragraph's sentences; HotpotQA's include the spaces between them, 2WikiMultihopQA's do not."""
    spaced = any(sentence[:1].isspace() for sentence in sentences[1:])
    return ("" if spaced else " ").join(sentences).strip()


def read_titled_paragraphs(question: Object) -> Iterator[Paragraph]:
    """Read a list of objects with `title` and `text`: MuSiQue's `paragraphs`, or `ctxs` or `contexts` of other sets."""
    key = next((name for name in PARAGRAPH_FIELDS if name in question), PARAGRAPH_FIELDS[0])
    for number, paragraph in enumerate(_list(question, key), 1):
        if not isinstance(paragraph, dict):
            raise MalformedError(f"paragraph {number} of {key} is not an object")
        yield _titled_text(paragraph, next((name for name in TEXT_FIELDS if name in paragraph), TEXT_FIELDS[0]), number)


def _titled_text(value: Object, text_key: str = "text", number: int = 1) -> Paragraph:
    text, title = _string(value.get(text_key), f"{text_key} of paragraph {number}"), value.get("title")
    return "" if title is None else _string(title, f"title of paragraph {number}"), text.strip()


def _list(value: Object, key: str) -> list[JsonValue]:
    found = value.get(key)
    if not isinstance(found, list):
        raise MalformedError(f"{key} is missing or not a list")
    return found


def _string(value: JsonValue, name: str) -> str:
    if not isinstance(value, str):
        raise MalformedError(f"{name} is {'missing' if value is None else f'a {type(value).__name__}'}, not text")
    return value


def _flashrag_passages(value: Object, path: Path, line: int) -> Iterator[SourceRecord]:
    """Yield the passage in `contents`, with its first line as title; FlashRAG puts that in quotation marks."""
    contents = _string(value.get("contents"), "contents")
    title, text = split_contents(contents)
    first, _, rest = contents.partition("\n")
    if not title and "title" not in value and len(first) <= _MAX_TITLE and rest.strip():
        title, text = first, rest
    return _passages({**value, "title": title or value.get("title"), "text": text}, path, line)


def _browsecomp_passages(value: Object, path: Path, line: int) -> Iterator[SourceRecord]:
    known = {"_id": value.get("docid"), "metadata": {"url": value["url"]} if "url" in value else {}}
    return _passages({**value, **known}, path, line)


def _article_passages(value: Object, path: Path, line: int) -> Iterator[SourceRecord]:
    """Split an article of MultiHop-RAG into passages; its other fields become their metadata."""
    title, body = _titled_text(value, "body")
    others = plain_metadata({key: each for key, each in value.items() if key not in ("title", "body")})
    for number, piece in enumerate(split_blocks([Element("text", body, line)], ChunkOptions()), 1):
        yield SourceRecord(f"{hash_passage(title, body)}#{number}", title, piece.text, path, line, others)


def _read_objects(
    path: Path, reading: CorpusReading, passages_of: Callable[[Object, Path, int], Iterator[SourceRecord]]
) -> Iterator[SourceRecord]:
    for line, value in read_json_values(path, reading):
        try:
            if not isinstance(value, dict):
                raise MalformedError(f"expected an object, found a {type(value).__name__}")
            records = list(passages_of(value, path, line))
        except MalformedError as error:
            reading.reject(path, line, str(error))
        else:
            yield from records


def _passages(value: Object, path: Path, line: int) -> Iterator[SourceRecord]:
    """Yield the passage with `_id` (or `id`), `text` and, optionally, `title` and `metadata`."""
    key = value.get("_id", value.get("id"))
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str) or not key.strip():
        raise MalformedError("_id is missing, blank or not text")
    title, text = value.get("title"), value.get("text")
    if not isinstance(text, str):
        raise MalformedError("text is missing or not text")
    if title is not None and not isinstance(title, str):
        raise MalformedError("title is not text")
    metadata = value.get("metadata")
    known = plain_metadata(metadata) if isinstance(metadata, dict) else {}
    yield SourceRecord(key, title or "", text, path, line, known)


def read_pooled(
    path: Path, reading: CorpusReading, paragraphs_of: Callable[[Object], Iterator[Paragraph]]
) -> Iterator[SourceRecord]:
    """Read the distinct paragraphs of all questions, with ids by `hash_passage`; those without text are skipped."""
    seen: set[str] = set()

    def new_paragraphs(question: Object, _: Path, line: int) -> Iterator[SourceRecord]:
        for title, text in list(paragraphs_of(question)):  # fails before any is marked as seen
            name = hash_passage(title, text)
            if text and name not in seen:
                seen.add(name)
                yield SourceRecord(name, title, text, path, line)

    return _read_objects(path, reading, new_paragraphs)


def read_dpr(path: Path, reading: CorpusReading) -> Iterator[SourceRecord]:
    """Read DPR's `psgs_w100.tsv`: tab-separated id, text and title, quoted as in CSV."""
    for number, line in read_lines(path, reading):
        try:
            # Parsed line by line, so that an unclosed quotation mark affects only one line.
            (columns,) = csv.reader([line.rstrip("\r\n")], delimiter="\t", strict=True)
        except csv.Error as error:
            reading.reject(path, number, f"not tab-separated fields: {error}")
            continue
        if len(columns) not in (0, len(DPR_COLUMNS)):
            reading.reject(path, number, f"expected 3 fields (id, text, title), found {len(columns)}")
        elif columns and not (number == 1 and columns == DPR_COLUMNS):
            yield SourceRecord(columns[0], columns[2], columns[1], path, number)


def read_msmarco(path: Path, reading: CorpusReading) -> Iterator[SourceRecord]:
    """Read MS MARCO's `collection.tsv`: tab-separated id and text, without quoting."""
    for number, line in read_lines(path, reading):
        columns = line.rstrip("\r\n").split("\t")
        if len(columns) == 2:
            yield SourceRecord(columns[0], "", columns[1], path, number)
        elif any(columns):
            reading.reject(path, number, f"expected 2 fields (id, text), found {len(columns)}")


def hash_passage(title: str, text: str) -> str:
    """Return an id for a pooled paragraph: 20 hexadecimal digits derived from title and text."""
    content = f"{title}\0{text}".encode(errors="surrogatepass")
    return blake2b(content, digest_size=10).hexdigest()


TEXT = "text"
CORPUS_FORMATS: dict[str, Callable[[Path, CorpusReading], Iterator[SourceRecord]] | None] = {
    "musique": partial(read_pooled, paragraphs_of=read_titled_paragraphs),
    "nq": partial(read_pooled, paragraphs_of=read_titled_paragraphs),
    "2wikimultihopqa": partial(read_pooled, paragraphs_of=read_hotpotqa_context),
    "hotpotqa": partial(read_pooled, paragraphs_of=read_hotpotqa_context),
    "beir": partial(_read_objects, passages_of=_passages),
    "flashrag": partial(_read_objects, passages_of=_flashrag_passages),
    "browsecomp_plus": partial(_read_objects, passages_of=_browsecomp_passages),
    "hipporag": partial(read_pooled, paragraphs_of=lambda value: iter([_titled_text(value)])),
    "dpr": read_dpr,
    "msmarco": read_msmarco,
    "multihop_rag": partial(_read_objects, passages_of=_article_passages),
    TEXT: None,
}
"""Format → reader; None for documents, which are split into passages.

A reader raises OSError, and BadRecordError unless invalid records are skipped.
"""

JSON_FILES = JSON | {".jsonl", ".ndjson"}
_JSON_STARTS = frozenset({b"{", b"[", b'"', b"/"})
RECORDS = JSON_FILES | {".tsv"}
"""Suffixes of single files whose format is detected by content."""
DOCUMENTS = SUFFIXES - RECORDS
_BEIR_FILE = "corpus.jsonl"
_BEIR_FILES = (_BEIR_FILE, "queries.jsonl")
_MAX_FAILED_SHOWN = 10
_MAX_ANSWER_WORDS = 8  # of answers in data sets


@dataclass(frozen=True)
class Corpus:
    """A source with its detected format."""

    path: Path
    format: str
    files: tuple[Path, ...]
    """Files to read, in order."""
    chunking: ChunkOptions = field(default_factory=ChunkOptions)
    """How documents are split; records are not."""
    left_out: str = ""
    """Message about the files of a folder that are not read."""
    unread: Mapping[str, int] = field(default_factory=dict[str, int])
    """Suffix → number of files that cannot be read."""

    @property
    def recipe(self) -> str:
        """Return a key for how files are split into passages; if it changes, an update reads them again."""
        chunking = self.chunking
        return f"text 9 {chunking.words} {chunking.overlap} {chunking.ocr}" if self.format == TEXT else self.format

    def name_of(self, file: Path) -> str:
        """Return a file's path within the source, or its name if the source is a single file."""
        return relative_name(self.path, file)

    def records(self, reading: CorpusReading) -> Iterator[SourceRecord]:
        """Yield the passages in order; BadRecordError unless `reading` skips them, CorpusError for unreadable files."""
        if not self.files:
            return
        try:
            if read := CORPUS_FORMATS[self.format]:
                yield from read(self.path, reading)
            else:
                yield from read_text_files(self.path, self.files, self.chunking, reading)
        except OSError as error:
            raise _unreadable(self.path, error) from None


def open_corpus(
    source: Path,
    format_name: str | None = None,
    *,
    follow_links: bool = False,
    chunking: ChunkOptions | None = None,
    exclude: Iterable[str] = (),
) -> Corpus:
    """Open a source in the named format, one of CORPUS_FORMATS; by default, detect the format by content.

    The source is a file, or a folder with `corpus.jsonl` (BEIR) or documents. `exclude` has patterns as in
    `.gitignore`; symbolic links are skipped and reported unless `follow_links` is set. Raises SettingsError for an
    unknown format name; CorpusError if the source is missing, unreadable, without text or in an unknown format.
    """
    if format_name is not None and format_name not in CORPUS_FORMATS:
        raise SettingsError(f"corpus format {format_name!r:.80} is unknown{did_you_mean(format_name, CORPUS_FORMATS)}")
    try:
        if not source.exists():
            raise CorpusError(f"{source}: no such file or folder")
        if source.is_dir():
            return replace(
                _open_folder(source, format_name, exclude, follow_links=follow_links),
                chunking=chunking or ChunkOptions(),
            )
        open_source(source).close()
        return Corpus(source, format_name or _detect_format(source), (source,), chunking or ChunkOptions())
    except OSError as error:
        raise _unreadable(source, error) from None


def _open_folder(folder: Path, format_name: str | None, exclude: Iterable[str], *, follow_links: bool) -> Corpus:
    beir = folder / _BEIR_FILE
    if format_name == "beir" or (format_name is None and beir.is_file()):
        if not follow_links and beir.is_symlink():
            raise link_error(beir)
        files = list_files(folder, lambda _: None, exclude=exclude)  # reading reports the errors
        others = [each.name for each in files if each.name not in _BEIR_FILES and each.parent.name != "qrels"]
        named = ", ".join(others[:3]) + ", …" * (len(others) > 3)
        note = f"{pluralize(len(others), 'document')} next to {_BEIR_FILE} not read (use --format text): {named}"
        return Corpus(beir, "beir", (beir,), left_out=note if others else "")
    if format_name not in (None, TEXT):
        raise CorpusError(f"{folder} is a folder; for the format {format_name} name the file itself")
    failed, sizes = list[OSError](), dict[Path, int]()
    files = list_files(folder, failed.append, follow_links=follow_links, exclude=exclude)
    for file in filter(can_read, files):
        try:
            with open_source(file) as opened:
                sizes[file] = os.fstat(opened.fileno()).st_size
        except OSError as error:
            failed.append(error)
    questions = frozenset(file for file in sizes if suffix_of(file) in {*RECORDS, ".csv"} and _is_question_set(file))
    unread = count_unread(files)
    notes = [describe_unread(unread)]
    if questions:  # indexing them would leak the answers
        names = ", ".join(file.name for file in sorted(questions)[:3])
        notes.append(f"question sets, index them separately: {names}")
    if failed:
        named = (f"{each.filename}: {each.strerror or each}" for each in failed[:_MAX_FAILED_SHOWN])
        more = f" and {len(failed) - _MAX_FAILED_SHOWN:,} more" * (len(failed) > _MAX_FAILED_SHOWN)
        notes.append(f"cannot be opened: {'; '.join(named)}{more}")
    left_out = "; ".join(filter(None, notes))
    texts = tuple(file for file in sizes if file not in questions)
    if not any(sizes[file] for file in texts):
        has = f"no text in this folder{left_out and f' ({left_out})'}"
        raise CorpusError(
            f"{folder}: {has}; it needs {_BEIR_FILE}, or documents with text ({', '.join(readable_suffixes())})"
        )
    return Corpus(folder, TEXT, texts, left_out=left_out, unread=unread)


def _is_question_set(file: Path) -> bool:
    """Return whether a file has questions with the short answers of a data set; an FAQ answers in sentences."""
    is_table = suffix_of(file) in (".csv", ".tsv")
    first = _first_row(file) if is_table else _first_object(file)[0]
    if is_table and len(str(first.get("answer", "")).split()) > _MAX_ANSWER_WORDS:
        return False
    data = first.get("data")
    article = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else first
    paragraphs = article.get("paragraphs")
    if isinstance(paragraphs, list) and any(isinstance(each, dict) and "qas" in each for each in paragraphs[:3]):
        return True  # SQuAD
    formats = read_data_formats()
    as_corpus, as_questions = recognize(first, formats.corpora), recognize(first, formats.questions)
    return "question" in first if as_corpus not in (None, TEXT) else as_questions is not None


def _first_row(file: Path) -> Object:
    """Return the first row of a CSV or TSV file as column name → value."""
    with open_binary(file) as opened:
        lines = opened.read(1 << 16).decode("utf-8-sig", "replace").strip().splitlines()
    delimiter = max("\t;,", key=lines[0].count) if lines else ","
    names, first, *_ = [*islice(csv.reader(lines, delimiter=delimiter), 2), list[str](), list[str]()]
    return dict(zip_longest(names, first, fillvalue=""))


def _detect_tsv(path: Path) -> str | None:
    """Detect DPR's and MS MARCO's TSV by the first line; None for other files."""
    with open_binary(path) as file:
        header = file.readline(200).decode("utf-8-sig", errors="replace")
    columns = header.strip().replace('"', "").split("\t")
    if columns == DPR_COLUMNS:
        return "dpr"
    is_numbered = len(columns) == 2 and columns[0].isdecimal()
    return "msmarco" if is_numbered and suffix_of(path) == ".tsv" else None


def _detect_format(path: Path) -> str:
    if known := _detect_tsv(path):
        return known
    suffix = suffix_of(path)
    if suffix in DOCUMENTS:
        if unread := describe_unread(count_unread([path])):
            raise CorpusError(f"{path}: {unread}")
        return TEXT
    first, why = _first_object(path)
    formats = read_data_formats()
    if (name := recognize(first, formats.corpora)) and (name != TEXT or suffix in RECORDS):
        return name
    if questions := recognize(first, formats.questions):
        raise CorpusError(
            f"{path}: questions ({questions}), not a corpus; index the corpus that they belong to, and pass it to "
            "`hopgraph eval` as --corpus"
        )
    if suffix in JSON_FILES and read_first_bytes(path, 1) not in _JSON_STARTS:
        raise CorpusError(f"{path}: unknown format: {why}")
    if suffix in RECORDS or can_read(path):
        return TEXT
    raise CorpusError(f"{path}: {describe_unread(count_unread([path]))}; supported: {', '.join(readable_suffixes())}")


def _first_object(path: Path) -> tuple[Object, str]:
    """Return the first object of a JSON file; if there is none, an empty object and the reason."""
    start = read_first_bytes(path, 1)
    if start not in (b"{", b"["):
        return {}, "it does not start like JSON" if start else "it is empty"
    reading = CorpusReading(skip_invalid=True)
    try:
        for _, value in read_json_values(path, reading):
            if isinstance(value, dict) and value:
                return value, ""
    except BadRecordError as error:  # a broken list, or one object on several lines
        return {}, str(error)
    return {}, (reading.first_skipped or ["it has no JSON object"])[0]


def _unreadable(source: Path, error: OSError) -> CorpusError:
    return CorpusError(f"{error.filename or source}: cannot be read: {error.strerror or error}")
