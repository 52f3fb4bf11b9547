"""Streaming a corpus into an engine, in batches; an interrupted run resumes."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import groupby, islice
from pathlib import Path

from langchain_core.embeddings import Embeddings

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import Corpus, CorpusReading, SourceRecord, open_corpus
from hopgraph.tools.retrieval.corpora.cutting import Cutting
from hopgraph.tools.retrieval.embeddings import EmbeddingModel, resolve_embeddings
from hopgraph.tools.retrieval.engines.engine import Checkpoint, EngineFacts, EngineRow, SearchEngine, parse_address
from hopgraph.tools.retrieval.engines.engine_files import SourceFiles
from hopgraph.tools.retrieval.engines.engine_index import connect
from hopgraph.tools.retrieval.index import searchable_text
from hopgraph.tools.retrieval.index_manifest import CorpusFacts
from hopgraph.tools.retrieval.index_sources import FileChanges
from hopgraph.tools.retrieval.passage_store import StoredPassage, encode_passage, reason_not_to_store
from hopgraph.tools.retrieval.staging import Progress, ignore_progress
from hopgraph.tools.text import Analyser, get_analyser

_BATCH = 500
"""Passages that go to the engine at once."""
_CHECKPOINT = 20
"""Batches between checkpoints."""


@dataclass(frozen=True)
class FillReport:
    """The result of a run."""

    target: str
    format: str
    """The source's format, given or detected."""
    left_out: str
    """How many files of a folder were not read, by suffix."""
    changes: FileChanges
    """How the files differ from what the collection had of this source."""
    passages: int = 0
    """Passages that were read; one whose id comes again counts again, and the last of them stays."""
    resumed_at: int = 0
    """How many of them an interrupted run had stored."""
    total: int = 0
    """Passages that the collection has now."""
    skipped: int = 0
    """Bad records."""
    first_skipped: tuple[str, ...] = ()
    """What was wrong with the first few of them, with file and line."""
    seconds: float = 0.0


def index_into(
    target: str,
    source: Path,
    *,
    dense: str | Embeddings | None = None,
    format: str | None = None,  # noqa: A002 - the name of the command line's option
    skip_bad: bool = False,
    follow_links: bool = False,
    language: str = "en",
    keep_missing: bool = False,
    dry_run: bool = False,
    cutting: Cutting | None = None,
    progress: Progress = ignore_progress,
) -> FillReport:
    """Stream a corpus into an engine, or bring what it has of this file or folder up to date.

    The collection is created when it is missing. Only new and changed files are read: just before its new passages are
    stored, what was there of a file is deleted, and so are files that are gone, unless `keep_missing`. The passages of
    other sources stay; one whose id is there is replaced. Memory holds one batch. An interrupted run resumes when it
    is started again with the same source. The mode in the engine's spec `target` does not matter; `dense` is an
    embedding model to make vectors with, or its spec, None for BM25 alone; all others are as in `update_index`.

    Raises:
        SettingsError, SpecError: an unknown format, language or spec, or a package is missing.
        CorpusError: the source or the engine cannot be used, its collection is not ours or has other terms or vectors,
            or there is nothing to search for.
        BadRecordError: a record that cannot be read or held; unless `skip_bad`.
    """
    analyser = get_analyser(language)
    analyser.describe()  # fails before anything is read where a package is missing
    corpus = open_corpus(source.expanduser(), format, follow_links=follow_links, cutting=cutting)
    engine = connect(parse_address(target))
    model = resolve_embeddings(dense) if dense else None
    started = time.perf_counter()
    stored = engine.load_facts()
    facts = stored or EngineFacts(analyser=analyser.describe(), embedding=model.facts() if model else None)
    _check_kind(engine, facts, analyser, model)
    files = SourceFiles(corpus, engine.list_files() if stored else {})
    report = FillReport(str(engine.address), corpus.format, left_out=corpus.left_out, changes=files.changes)
    if dry_run:
        return report
    if stored is None:
        engine.create(facts)
    elif not keep_missing:
        engine.delete_files([files.key(name) for name in files.changes.vanished])
    if model and facts.embedding:
        model = model.with_recorded_settings(facts.embedding)
    reading = CorpusReading(skip_bad, files.to_read)
    run = _Run(engine, corpus, files, analyser, model, reading, progress, deletes=bool(stored))
    done = run.already_done(facts.unfinished)
    if not run.store_passages(facts, done) and not files.unchanged_passages:
        raise CorpusError(f"{corpus.path}: no passage with a word that could be searched for")
    progress("save", 0, None)
    total = engine.finish()
    engine.save_facts(_record_corpus(facts, run))
    return replace(
        report,
        passages=run.passages,
        resumed_at=done,
        total=total,
        skipped=reading.skipped,
        first_skipped=tuple(reading.first_skipped),
        seconds=time.perf_counter() - started,
    )


def _check_kind(engine: SearchEngine, facts: EngineFacts, analyser: Analyser, model: EmbeddingModel | None) -> None:
    """Refuse a collection of other terms or vectors."""
    if facts.analyser != analyser.describe():
        language = facts.analyser.get("language")
        raise CorpusError(f"{engine.address}: has {language} passages, not {analyser.language} ones")
    if (facts.embedding is None) != (model is None):
        there = f"with --dense {facts.embedding.model}" if facts.embedding else "without --dense"
        raise CorpusError(f"{engine.address}: was filled {there}; do so again, or choose another name")
    if facts.embedding and model:
        model.check(facts.embedding, str(engine.address))


def _record_corpus(facts: EngineFacts, run: "_Run") -> EngineFacts:
    """Return the facts with what the collection has of this source now."""
    files, name = run.files, run.corpus.path.name
    now = CorpusFacts(
        source=name,
        format=run.corpus.format,
        passages=run.passages + files.unchanged_passages,
        skipped=run.reading.skipped,
        fingerprint=files.fingerprint,
    )
    others = (
        each
        for each in facts.corpora
        if each.fingerprint != now.fingerprint and not (files.known and each.source == name)
    )
    return facts.model_copy(update={"corpora": (*others, now), "unfinished": None})


@dataclass
class _Run:
    """One pass over a source."""

    engine: SearchEngine
    corpus: Corpus
    files: SourceFiles
    analyser: Analyser
    model: EmbeddingModel | None
    reading: CorpusReading
    progress: Progress
    deletes: bool
    """Whether the collection may have passages of the files that are read."""
    passages: int = 0

    def __post_init__(self) -> None:
        self._digest = sha256()

    def already_done(self, unfinished: Checkpoint | None) -> int:
        """Return how many passages an interrupted run has stored; 0 unless this source begins with them."""
        if unfinished is None or unfinished.source != self.corpus.path.name:
            return 0
        digest = sha256()
        for row in islice(self._rows(CorpusReading(True, self.files.to_read)), unfinished.passages):
            digest.update(encode_passage(row.passage))
        return unfinished.passages if digest.hexdigest() == unfinished.fingerprint else 0

    def store_passages(self, facts: EngineFacts, done: int) -> bool:
        """Store everything after the first `done` passages; return whether there was a term to search for."""
        terms_met, begun = False, set[str]()
        rows = self._rows(self.reading)
        batches = iter(lambda: list(islice(rows, _BATCH)), [])  # ends with an empty one
        for number, batch in enumerate(batches, start=1):
            self.progress("read", self.reading.bytes_read, self.corpus.size)
            for row in batch:
                self._digest.update(encode_passage(row.passage))
                terms_met = terms_met or bool(row.terms)
            self.passages += len(batch)
            starting = {row.file for row in batch} - begun
            begun |= starting
            if self.passages <= done:
                continue
            batch = self._with_vectors(batch)
            if self.deletes:  # only now, so that they can be found until the new ones come
                self.engine.delete_files(sorted(starting))
            self.engine.upsert(batch)
            if number % _CHECKPOINT == 0:
                self.engine.save_facts(facts.model_copy(update={"unfinished": self.checkpoint()}))
        return terms_met

    def _rows(self, reading: CorpusReading) -> Iterator[EngineRow]:
        """Yield the passages that the engine can store, a file's last with its record; the others are bad records."""
        for path, records in groupby(self.corpus.records(reading), key=lambda record: record.file):
            count, last = 0, None
            for row in self._rows_of(path, records, reading):
                if last:
                    yield last
                count, last = count + 1, row
            if last:
                yield last._replace(file_record=self.files.record(path, count))

    def _rows_of(self, path: Path, records: Iterable[SourceRecord], reading: CorpusReading) -> Iterator[EngineRow]:
        key = self.files.key_of(path)
        for record in records:
            passage = StoredPassage(record.id, record.title, record.text, record.metadata)
            row = EngineRow(passage, tuple(self.analyser.terms(searchable_text(passage))), file=key)
            if problem := reason_not_to_store(passage) or self.engine.refusal_reason(row):
                reading.reject(record.file, record.line, problem)
            else:
                yield row

    def _with_vectors(self, batch: list[EngineRow]) -> list[EngineRow]:
        if not self.model:
            return batch
        vectors = self.model.passages([searchable_text(row.passage) for row in batch]).tolist()
        return [row._replace(vector=vector) for row, vector in zip(batch, vectors, strict=True)]

    def checkpoint(self) -> Checkpoint:
        """Return what was stored so far."""
        return Checkpoint(source=self.corpus.path.name, passages=self.passages, fingerprint=self._digest.hexdigest())
