"""Streaming a corpus into an engine, in batches; an interrupted run resumes."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

from langchain_core.embeddings import Embeddings

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import Corpus, CorpusReading, open_corpus
from hopgraph.tools.retrieval.embeddings import EmbeddingModel, resolve_embeddings
from hopgraph.tools.retrieval.engines.engine import Checkpoint, EngineFacts, EngineRow, SearchEngine, parse_address
from hopgraph.tools.retrieval.engines.engine_index import connect
from hopgraph.tools.retrieval.index import searchable_text
from hopgraph.tools.retrieval.index_manifest import CorpusFacts
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
    passages: int
    """Passages of this source; one whose id comes again counts again, and the last of them stays."""
    resumed_at: int
    """How many of them an interrupted run had stored."""
    total: int
    """Passages that the collection has now."""
    left_out: str
    """How many files of a folder were not read, by suffix."""
    skipped: int
    """Bad records."""
    first_skipped: tuple[str, ...]
    """What was wrong with the first few of them, with file and line."""
    seconds: float


def index_into(
    target: str,
    source: Path,
    *,
    dense: str | Embeddings | None = None,
    format: str | None = None,  # noqa: A002 - the name of the command line's option
    skip_bad: bool = False,
    follow_links: bool = False,
    language: str = "en",
    progress: Progress = ignore_progress,
) -> FillReport:
    """Stream a corpus into an engine; a passage whose id is there is replaced, all others stay.

    The collection is created when it is missing. Memory holds one batch. An interrupted run resumes when it is
    started again with the same source. The mode in the engine's spec `target` does not matter; `dense` is an embedding
    model to make vectors with, or its spec, None for BM25 alone; all others are as in `build_index`.

    Raises:
        SettingsError, SpecError: an unknown format, language or spec, or a package is missing.
        CorpusError: the source or the engine cannot be used, its collection is not ours or has other terms or vectors,
            or there is nothing to search for.
        BadRecordError: a record that cannot be read or held; unless `skip_bad`.
    """
    analyser = get_analyser(language)
    analyser.describe()  # fails before anything is read where a package is missing
    corpus = open_corpus(source.expanduser(), format, follow_links=follow_links)
    engine = connect(parse_address(target))
    model = resolve_embeddings(dense) if dense else None
    started = time.perf_counter()
    facts = _check_or_create(engine, analyser, model)
    if model and facts.embedding:
        model = model.with_recorded_settings(facts.embedding)
    reading = CorpusReading(skip_bad)
    run = _Run(engine, corpus, analyser, model, reading, progress)
    done = run.already_done(facts.unfinished)
    if not run.store_passages(facts, done):
        raise CorpusError(f"{corpus.path}: no passage with a word that could be searched for")
    progress("save", 0, None)
    total = engine.finish()
    stored = CorpusFacts(**run.checkpoint().model_dump(), format=corpus.format, skipped=reading.skipped)
    others = (each for each in facts.corpora if each.fingerprint != stored.fingerprint)
    engine.save_facts(facts.model_copy(update={"corpora": (*others, stored), "unfinished": None}))
    return FillReport(
        target=str(engine.address),
        format=corpus.format,
        passages=run.passages,
        resumed_at=done,
        total=total,
        left_out=corpus.left_out,
        skipped=reading.skipped,
        first_skipped=tuple(reading.first_skipped),
        seconds=time.perf_counter() - started,
    )


def _check_or_create(engine: SearchEngine, analyser: Analyser, model: EmbeddingModel | None) -> EngineFacts:
    """Return the facts of the collection, which is created if it is missing; refuse one of other terms or vectors."""
    facts = engine.load_facts()
    if facts is None:
        facts = EngineFacts(analyser=analyser.describe(), embedding=model.facts() if model else None, metadata=True)
        engine.create(facts)
    if facts.analyser != analyser.describe():
        language = facts.analyser.get("language")
        raise CorpusError(f"{engine.address}: has {language} passages, not {analyser.language} ones")
    if (facts.embedding is None) != (model is None):
        there = f"with --dense {facts.embedding.model}" if facts.embedding else "without --dense"
        raise CorpusError(f"{engine.address}: was filled {there}; do so again, or choose another name")
    if facts.embedding and model:
        model.check(facts.embedding, str(engine.address))
    return facts


@dataclass
class _Run:
    """One pass over a source."""

    engine: SearchEngine
    corpus: Corpus
    analyser: Analyser
    model: EmbeddingModel | None
    reading: CorpusReading
    progress: Progress
    passages: int = 0

    def __post_init__(self) -> None:
        self._digest = sha256()

    def already_done(self, unfinished: Checkpoint | None) -> int:
        """Return how many passages an interrupted run has stored; 0 unless this source begins with them."""
        if unfinished is None or unfinished.source != self.corpus.path.name:
            return 0
        digest = sha256()
        for row in islice(self._rows(CorpusReading(skip_bad=True)), unfinished.passages):
            digest.update(encode_passage(row.passage))
        return unfinished.passages if digest.hexdigest() == unfinished.fingerprint else 0

    def store_passages(self, facts: EngineFacts, done: int) -> bool:
        """Store everything after the first `done` passages; return whether there was a term to search for."""
        terms_met = False
        rows = self._rows(self.reading)
        batches = iter(lambda: list(islice(rows, _BATCH)), [])  # ends with an empty one
        for number, batch in enumerate(batches, start=1):
            self.progress("read", self.reading.bytes_read, self.corpus.size)
            for row in batch:
                self._digest.update(encode_passage(row.passage))
                terms_met = terms_met or bool(row.terms)
            self.passages += len(batch)
            if self.passages <= done:
                continue
            self.engine.upsert(self._with_vectors(batch))
            if number % _CHECKPOINT == 0:
                self.engine.save_facts(facts.model_copy(update={"unfinished": self.checkpoint()}))
        return terms_met

    def _rows(self, reading: CorpusReading) -> Iterator[EngineRow]:
        """Yield the passages that the engine can store; the others are bad records."""
        for record in self.corpus.records(reading):
            passage = StoredPassage(record.id, record.title, record.text, record.metadata)
            row = EngineRow(passage, tuple(self.analyser.terms(searchable_text(passage))))
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
