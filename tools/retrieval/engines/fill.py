"""Stream a corpus into an engine in batches: only new and changed files; an interrupted run resumes.

A collection cannot store a file list that changes together with its passages. So each passage has a digest of its
file, and a file's last passage, stored last, has the file's hash; a file without it is incomplete.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from hashlib import blake2b, sha256
from itertools import groupby, islice
from pathlib import Path

from langchain_core.embeddings import Embeddings

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import Corpus, CorpusReading, open_corpus
from hopgraph.tools.retrieval.corpora.chunking import ChunkOptions
from hopgraph.tools.retrieval.embeddings.embedding_model import EmbeddingModel
from hopgraph.tools.retrieval.embeddings.resolve import resolve_embeddings
from hopgraph.tools.retrieval.engines.engine import Checkpoint, CollectionInfo, EngineRow, parse_address
from hopgraph.tools.retrieval.engines.engine_index import SearchEngine, connect
from hopgraph.tools.retrieval.index import searchable_text
from hopgraph.tools.retrieval.index_manifest import CorpusInfo
from hopgraph.tools.retrieval.index_sources import FileChanges, compare_files, hash_files
from hopgraph.tools.retrieval.passage_store import StoredPassage, reason_not_to_store
from hopgraph.tools.retrieval.staging import Progress, ignore_progress
from hopgraph.tools.text import Analyzer, get_analyzer

_BATCH = 500  # passages sent at once
_CHECKPOINT = 20  # batches between checkpoints


@dataclass(frozen=True)
class FillReport:
    """The result of a run."""

    target: str
    format: str
    """The source's format, given or detected."""
    left_out: str
    """Number of files of a folder that were not read, by suffix."""
    changes: FileChanges
    """How the files differ from those stored from this source."""
    passages: int = 0
    """Passages that were read; each of several with the same id counts, and the last is stored."""
    resumed_at: int = 0
    """Number of these that an interrupted run had stored."""
    total: int = 0
    """Passages in the collection."""
    skipped: int = 0
    first_skipped: tuple[str, ...] = ()
    """Errors of the first few, with file and line."""
    notes: tuple[str, ...] = ()
    """Files that were not UTF-8, and their encodings."""
    seconds: float = 0.0


def index_into(
    target: str,
    source: Path,
    *,
    dense: str | Embeddings | None = None,
    format: str | None = None,  # noqa: A002 - the name of the command line's option
    skip_invalid: bool = False,
    follow_links: bool = False,
    exclude: Sequence[str] = (),
    language: str = "en",
    keep_deleted: bool = False,
    dry_run: bool = False,
    chunking: ChunkOptions | None = None,
    progress: Progress = ignore_progress,
) -> FillReport:
    """Stream a corpus into an engine, or update what the collection has of this file or folder.

    A missing collection is created. Only new and changed files are read: a file's old passages are deleted just before
    its new ones are stored, and those of deleted files at the start, unless `keep_deleted`. Passages of other sources
    stay, except that equal ids are replaced. Memory holds one batch. An interrupted run resumes when it is started
    again with the same source. `target` is an engine's spec, whose mode is ignored; `dense` is an embedding model for
    vectors, or its spec, None for BM25 alone; the other arguments and the errors are as in `update_index`; also
    CorpusError if the engine cannot be used, or the collection is not ours or has other terms or vectors.
    """
    analyzer = get_analyzer(language)
    corpus = open_corpus(source.expanduser(), format, follow_links=follow_links, chunking=chunking, exclude=exclude)
    engine = connect(parse_address(target))
    model = resolve_embeddings(dense) if dense else None
    started = time.perf_counter()
    stored = engine.load_info()
    info = stored or CollectionInfo(analyzer=analyzer.describe(), embedding=model.info if model else None)
    _check_match(engine, info, analyzer, model)
    if model and info.embedding:
        model = model.with_recorded_settings(info.embedding)
    reading = CorpusReading(skip_invalid)
    run = _Run(engine, corpus, engine.list_files() if stored else {}, analyzer, model, reading, progress)
    report = FillReport(str(engine.address), corpus.format, left_out=corpus.left_out, changes=run.changes)
    if dry_run:
        return report
    if stored is None:
        engine.create(info)
    elif not keep_deleted:
        engine.delete_files([run.file_key(name) for name in run.changes.vanished])
    unfinished = info.unfinished
    done = unfinished.passages if unfinished and unfinished == run.checkpoint(unfinished.passages) else 0
    if not run.store_passages(info, done, delete_old=bool(stored)) and not run.unchanged_passages:
        raise CorpusError(f"{corpus.path}: no passage has a searchable word")
    progress("save", 0, None)
    total = engine.finish()
    engine.save_info(run.record_corpus(info))
    return replace(
        report,
        passages=run.passages,
        resumed_at=done,
        total=total,
        skipped=reading.skipped,
        first_skipped=tuple(reading.first_skipped),
        notes=tuple(reading.notes),
        seconds=time.perf_counter() - started,
    )


def _check_match(engine: SearchEngine, info: CollectionInfo, analyzer: Analyzer, model: EmbeddingModel | None) -> None:
    """Raise CorpusError for a collection with another analyzer or embedding model."""
    if info.analyzer != analyzer.describe():
        language = info.analyzer.get("language")
        raise CorpusError(f"{engine.address}: has {language} passages, not {analyzer.language} ones")
    if (info.embedding is None) != (model is None):
        there = f"with --dense {info.embedding.model}" if info.embedding else "without --dense"
        raise CorpusError(f"{engine.address}: was filled {there}; do so again, or choose another name")
    if info.embedding and model:
        model.check(info.embedding, str(engine.address))


@dataclass
class _Run:
    """One pass over a source, comparing its files with those in the collection."""

    engine: SearchEngine
    corpus: Corpus
    stored: InitVar[Mapping[str, str]]
    """From `SearchEngine.list_files`."""
    analyzer: Analyzer
    model: EmbeddingModel | None
    reading: CorpusReading
    progress: Progress
    passages: int = 0

    def __post_init__(self, stored: Mapping[str, str]) -> None:
        """Compare the files; CorpusError for an unreadable one."""
        self._source = _digest(str(self.corpus.path.resolve()))
        self._hashes = hash_files(self.corpus)
        records = [record.split(" ", 2) for key, record in stored.items() if key.startswith(self._source)]
        self._is_known = bool(records)
        self.changes = compare_files(((name, file_hash) for file_hash, _, name in records), self._hashes)
        self._differing = {*self.changes.added, *self.changes.changed}
        self.unchanged_passages = sum(
            int(passages) for _, passages, name in records if name in self._hashes and name not in self._differing
        )

    def store_passages(self, info: CollectionInfo, done: int, *, delete_old: bool) -> bool:
        """Store all passages after the first `done`; return whether any has a searchable term.

        `delete_old`: delete each file's old passages first.
        """
        has_terms, seen = False, set[str]()
        files = tuple(path for path in self.corpus.files if self.corpus.name_of(path) in self._differing)
        size = sum(path.stat().st_size for path in files if path.exists())
        rows = self._rows(replace(self.corpus, files=files))
        batches = iter(lambda: list(islice(rows, _BATCH)), [])  # until one is empty
        for number, batch in enumerate(batches, start=1):
            self.progress("read", self.reading.bytes_read, size)
            has_terms = has_terms or any(row.terms for row in batch)
            self.passages += len(batch)
            new = {row.file for row in batch} - seen
            seen |= new
            if self.passages <= done:
                continue
            if self.model:
                vectors = self.model.passages([searchable_text(row.passage) for row in batch]).tolist()
                batch = [row._replace(vector=vector) for row, vector in zip(batch, vectors, strict=True)]
            if delete_old:  # only now, so that they can be found until the new ones are stored
                self.engine.delete_files(sorted(new))
            self.engine.upsert(batch)
            if number % _CHECKPOINT == 0:
                self.engine.save_info(info.model_copy(update={"unfinished": self.checkpoint(self.passages)}))
        return has_terms

    def _rows(self, corpus: Corpus) -> Iterator[EngineRow]:
        """Yield the passages that the engine can store, a file's last one with its record; reject the others."""
        for path, records in groupby(corpus.records(self.reading), key=lambda record: record.file):
            name = corpus.name_of(path)
            key, count, last = self.file_key(name), 0, None
            for record in records:
                passage = StoredPassage(record.id, record.title, record.text, record.metadata)
                row = EngineRow(passage, tuple(self.analyzer.terms(searchable_text(passage))), file=key)
                if problem := reason_not_to_store(passage) or self.engine.rejection_reason(row):
                    self.reading.reject(record.file, record.line, problem)
                    continue
                if last:
                    yield last
                count, last = count + 1, row
            if last:
                yield last._replace(file_record=f"{self._hashes[name]} {count} {name}")

    def file_key(self, name: str) -> str:
        """Return a file's key in the collection: hex digits that begin with its source's."""
        return self._source + _digest(name)

    def checkpoint(self, passages: int) -> Checkpoint:
        """Return the checkpoint after this many passages."""
        names = (name for name in self._hashes if name in self._differing)
        return Checkpoint(source=self.corpus.path.name, passages=passages, fingerprint=self._fingerprint(names))

    def record_corpus(self, info: CollectionInfo) -> CollectionInfo:
        """Return the info with this source as it is now."""
        now = CorpusInfo(
            source=self.corpus.path.name,
            format=self.corpus.format,
            passages=self.passages + self.unchanged_passages,
            skipped=self.reading.skipped,
            fingerprint=self._fingerprint(self._hashes),
        )
        others = (
            each
            for each in info.corpora
            if each.fingerprint != now.fingerprint and not (self._is_known and each.source == now.source)
        )
        return info.model_copy(update={"corpora": (*others, now), "unfinished": None})

    def _fingerprint(self, names: Iterable[str]) -> str:
        return sha256("".join(f"{self._hashes[name]} {name}\n" for name in names).encode()).hexdigest()


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=12).hexdigest()
