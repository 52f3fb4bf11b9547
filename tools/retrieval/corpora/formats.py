"""The formats of corpora: detecting them by content, and reading any of them."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hopgraph.state import BadRecordError, CorpusError, SettingsError
from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.retrieval.corpora.cutting import Cutting
from hopgraph.tools.retrieval.corpora.json_values import read_first_bytes, read_json_values
from hopgraph.tools.retrieval.corpora.plain_formats import TEXT_KEYS
from hopgraph.tools.retrieval.corpora.readers import (
    DPR_COLUMNS,
    Object,
    read_beir,
    read_dpr,
    read_hotpotqa_context,
    read_pooled,
    read_titled_paragraphs,
)
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading, SourceRecord
from hopgraph.tools.retrieval.corpora.text_files import (
    SUFFIXES,
    can_read,
    describe_unread,
    list_files,
    read_text_files,
    readable_suffixes,
    refuse_link,
)


class CorpusFormat(NamedTuple):
    """One format of a corpus."""

    read: Callable[[Path, CorpusReading], Iterator[SourceRecord]] | None
    """Raises BadRecordError for a record of another shape, unless bad records are skipped, and OSError.

    None for documents, which are cut.
    """
    keys: tuple[str, ...] = ()
    """The keys by which its first object is recognised; empty when it is not JSON."""


TEXT = "text"
_HOTPOTQA = partial(read_pooled, paragraphs_of=read_hotpotqa_context)
_MUSIQUE = partial(read_titled_paragraphs, key="paragraphs", text_key="paragraph_text")
_DPR_CONTEXTS = partial(read_titled_paragraphs, key="ctxs", text_key="text")
FORMATS: dict[str, CorpusFormat] = {
    "musique": CorpusFormat(partial(read_pooled, paragraphs_of=_MUSIQUE), ("question", "paragraphs")),
    "nq": CorpusFormat(partial(read_pooled, paragraphs_of=_DPR_CONTEXTS), ("question", "ctxs")),
    "2wikimultihopqa": CorpusFormat(_HOTPOTQA, ("question", "context", "evidences")),
    "hotpotqa": CorpusFormat(_HOTPOTQA, ("question", "context")),
    "beir": CorpusFormat(read_beir, ("_id", "text")),
    "dpr": CorpusFormat(read_dpr),
    TEXT: CorpusFormat(None),
}
"""By name; those in JSON in the order in which they are tried."""

RECORDS = frozenset({".json", ".jsonl", ".tsv"})
"""Suffixes of files by themselves that are recognised by their content."""
DOCUMENTS = SUFFIXES - RECORDS
_BEIR_FILE = "corpus.jsonl"
_FAILED_SHOWN = 10


@dataclass(frozen=True)
class Corpus:
    """A source whose format is known."""

    path: Path
    format: str
    files: tuple[Path, ...]
    """The files to read, in the order of their passages."""
    cutting: Cutting = field(default_factory=Cutting)
    """How documents are cut; records are not."""
    left_out: str = ""
    """What of a folder is not read: how many files, by suffix, question sets, and what cannot be opened."""

    @property
    def recipe(self) -> str:
        """How its files become passages: where this differs, an update reads them again."""
        return f"text 3 {self.cutting.words} {self.cutting.overlap}" if self.format == TEXT else self.format

    def name_of(self, file: Path) -> str:
        """Return a file's path within the source; the name of a source that is one file."""
        name = file.name if file == self.path else file.relative_to(self.path).as_posix()
        return os.fsencode(name).decode(errors="backslashreplace")

    def records(self, reading: CorpusReading) -> Iterator[SourceRecord]:
        """Yield the passages in the source's order; texts are not checked.

        Raises:
            BadRecordError: naming file and line, unless `reading` skips bad records.
            CorpusError: a file cannot be read.
        """
        if not self.files:
            return
        try:
            if read := FORMATS[self.format].read:
                yield from read(self.path, reading)
            else:
                yield from read_text_files(self.path, self.files, self.cutting, reading)
        except OSError as error:
            raise _unreadable(self.path, error) from None


def open_corpus(
    source: Path, format_name: str | None = None, *, follow_links: bool = False, cutting: Cutting | None = None
) -> Corpus:
    """Return a source with its format, one of FORMATS, which is detected by content unless it is named.

    The source is a file, or a folder with `corpus.jsonl` (BEIR) or with documents. Links in a folder are
    refused, unless `follow_links`.

    Raises:
        SettingsError: no format has this name.
        CorpusError: the source is missing, unreadable, without text, or of no known format.
    """
    if format_name is not None and format_name not in FORMATS:
        raise SettingsError(f"corpus format {format_name!r} is unknown; use one of: {', '.join(sorted(FORMATS))}")
    try:
        if not source.exists():
            raise CorpusError(f"{source}: no such file or folder")
        if source.is_dir():
            return replace(_open_folder(source, format_name, follow_links), cutting=cutting or Cutting())
        open_source(source).close()
        form = format_name or _detect_format(source)
        return Corpus(source, form, (source,), cutting or Cutting())
    except OSError as error:
        raise _unreadable(source, error) from None


def _open_folder(folder: Path, format_name: str | None, follow_links: bool) -> Corpus:
    beir = folder / _BEIR_FILE
    if format_name == "beir" or (format_name is None and beir.is_file()):
        if not follow_links:
            refuse_link(beir)
        return Corpus(beir, "beir", (beir,))
    if format_name not in (None, TEXT):
        raise CorpusError(f"{folder} is a folder; for the format {format_name} name the file itself")
    failed, sizes = list[OSError](), dict[Path, int]()
    files = list_files(folder, failed.append, follow_links=follow_links)
    for file in filter(can_read, files):
        try:
            with open_source(file) as opened:
                sizes[file] = os.fstat(opened.fileno()).st_size
        except OSError as error:
            failed.append(error)
    questions = frozenset(file for file in sizes if file.suffix.lower() in RECORDS and _is_question_set(file))
    notes = [describe_unread(files)]
    if questions:  # they hold the answers
        names = ", ".join(file.name for file in sorted(questions)[:3])
        notes.append(f"question sets, to be indexed by themselves: {names}")
    if failed:
        named = (f"{each.filename}: {each.strerror or each}" for each in failed[:_FAILED_SHOWN])
        more = f" and {len(failed) - _FAILED_SHOWN:,} more" * (len(failed) > _FAILED_SHOWN)
        notes.append(f"cannot be opened: {'; '.join(named)}{more}")
    left_out = "; ".join(filter(None, notes))
    texts = tuple(file for file in sizes if file not in questions)
    if not any(sizes[file] for file in texts):
        has = f"no text in this folder{left_out and f' ({left_out})'}"
        raise CorpusError(
            f"{folder}: {has}; it needs {_BEIR_FILE}, or documents with text ({', '.join(readable_suffixes())})"
        )
    return Corpus(folder, TEXT, texts, left_out=left_out)


def _is_question_set(file: Path) -> bool:
    first, _ = _first_object(file)
    return any(form.keys[:1] == ("question",) and all(key in first for key in form.keys) for form in FORMATS.values())


def _detect_format(path: Path) -> str:
    with open_source(path) as file:
        header = file.readline(200).decode("utf-8-sig", errors="replace")
    if header.strip().replace('"', "").split("\t") == DPR_COLUMNS:
        return "dpr"
    if path.suffix.lower() in DOCUMENTS:
        if unread := describe_unread([path]):
            raise CorpusError(f"{path}: {unread}")
        return TEXT
    first, why = _first_object(path)
    for name, form in FORMATS.items():
        if form.keys and all(key in first or key.removeprefix("_") in first for key in form.keys):
            return name
    if path.suffix.lower() in RECORDS and not first.keys().isdisjoint(TEXT_KEYS):
        return TEXT
    if path.suffix.lower() not in RECORDS and not first:
        raise CorpusError(f"{path}: {describe_unread([path])}; what can be: {', '.join(readable_suffixes())}")
    found = f"its first object has the keys {', '.join(list(first)[:12])}" if first else why
    tried = "; ".join(f"{name}: {', '.join(form.keys)}" for name, form in FORMATS.items() if form.keys)
    raise CorpusError(
        f"{path}: unknown format: {found}; tried {tried}; dpr: a first line with id, text, title; "
        "text: documents; name the format if the file is one of these"
    )


def _first_object(path: Path) -> tuple[Object, str]:
    """Return the first object of a JSON file; where there is none, an empty one and why."""
    start = read_first_bytes(path, 1)
    if start not in (b"{", b"["):
        return {}, "it does not begin as JSON does" if start else "it is empty"
    reading = CorpusReading(skip_bad=True)
    try:
        for _, value in read_json_values(path, reading):
            if isinstance(value, dict) and value:
                return value, ""
    except BadRecordError as error:  # a list that is broken, or one object over several lines
        return {}, str(error)
    return {}, (reading.first_skipped or ["it has no JSON object"])[0]


def _unreadable(source: Path, error: OSError) -> CorpusError:
    return CorpusError(f"{error.filename or source}: cannot be read: {error.strerror or error}")
