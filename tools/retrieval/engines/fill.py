"""Streaming a corpus into an engine, in batches; an interrupted run resumes."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import Corpus, CorpusReading
from hopgraph.tools.retrieval.embeddings import EmbeddingModel
from hopgraph.tools.retrieval.engines.engine import EngineRow, SearchEngine
from hopgraph.tools.retrieval.engines.engine_facts import Checkpoint, EngineFacts
from hopgraph.tools.retrieval.index import searchable_text
from hopgraph.tools.retrieval.index_manifest import CorpusFacts
from hopgraph.tools.retrieval.passage_store import StoredPassage, encode_passage
from hopgraph.tools.retrieval.progress import Progress
from hopgraph.tools.text import Analyser

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
    skipped: int
    """Bad records."""
    first_skipped: tuple[str, ...]
    """What was wrong with the first few of them, with file and line."""
    seconds: float


def fill_collection(
    engine: SearchEngine,
    corpus: Corpus,
    analyser: Analyser,
    model: EmbeddingModel | None,
    *,
    skip_bad: bool,
    progress: Progress,
) -> FillReport:
    """Stream a corpus into a collection, which is created when it is missing. Memory holds one batch.

    Raises:
        CorpusError: the engine cannot be reached or refuses; its collection is not ours, or has other terms or
            vectors; or there is nothing to search for.
        BadRecordError: a record that cannot be read or stored; unless `skip_bad`.
    """
    started = time.perf_counter()
    facts = _check_or_create(engine, analyser, model)
    if model and facts.embedding:
        model = model.with_recorded_settings(facts.embedding)
    run = _Run(engine, corpus, analyser, model, CorpusReading(skip_bad), progress)
    done = run.already_done(facts.unfinished)
    if not run.store_passages(facts, done):
        raise CorpusError(f"{corpus.path}: no passage with a word that could be searched for")
    progress("save", 0, None)
    total = engine.finish()
    engine.save_facts(facts.with_corpus(run.corpus_facts()))
    reading = run.reading
    return FillReport(
        target=str(engine.address),
        format=corpus.format,
        passages=run.passages,
        resumed_at=done,
        total=total,
        skipped=reading.skipped,
        first_skipped=tuple(reading.first_skipped),
        seconds=time.perf_counter() - started,
    )


def _check_or_create(engine: SearchEngine, analyser: Analyser, model: EmbeddingModel | None) -> EngineFacts:
    """Return the facts of the collection, which is created if it is missing.

    Raises:
        CorpusError: it is there, with other terms or vectors than this run would store.
    """
    facts = engine.load_facts()
    if facts is None:
        facts = EngineFacts(analyser=analyser.describe(), embedding=model.facts() if model else None)
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


class _Run:
    """One pass over a source."""

    def __init__(
        self,
        engine: SearchEngine,
        corpus: Corpus,
        analyser: Analyser,
        model: EmbeddingModel | None,
        reading: CorpusReading,
        progress: Progress,
    ) -> None:
        self.engine, self.corpus, self.analyser, self.model = engine, corpus, analyser, model
        self.reading, self.progress = reading, progress
        self.passages = 0
        self._digest = sha256()

    def already_done(self, unfinished: Checkpoint | None) -> int:
        """Return how many passages an interrupted run has stored; 0 unless this source begins with them."""
        if unfinished is None or unfinished.source != self.corpus.path.name:
            return 0
        digest, count = sha256(), 0
        for row in islice(self._rows(CorpusReading(skip_bad=True)), unfinished.passages):
            digest.update(encode_passage(row.passage))
            count += 1
        return count if digest.hexdigest() == unfinished.fingerprint else 0

    def store_passages(self, facts: EngineFacts, done: int) -> bool:
        """Store everything after the first `done` passages; return whether there was a term to search for."""
        terms_met = False
        for number, batch in enumerate(_in_batches(self._rows(self.reading)), start=1):
            self.progress("read", self.reading.bytes_read, self.corpus.size)
            for row in batch:
                self._digest.update(encode_passage(row.passage))
                terms_met = terms_met or bool(row.terms)
            self.passages += len(batch)
            if self.passages <= done:
                continue
            self.engine.upsert(self._with_vectors(batch))
            if number % _CHECKPOINT == 0:
                self.engine.save_facts(facts.model_copy(update={"unfinished": self._checkpoint()}))
        return terms_met

    def _rows(self, reading: CorpusReading) -> Iterator[EngineRow]:
        """Yield the passages that the engine can store; the others are bad records."""
        for record in self.corpus.records(reading):
            passage = StoredPassage(record.id, record.title, record.text)
            if not record.text.strip() or not record.id.strip():
                reading.reject(record.file, record.line, f"the passage {record.id!r} has no text or no id")
                continue
            row = EngineRow(passage, tuple(self.analyser.terms(searchable_text(passage))))
            if reason := _not_unicode(passage) or self.engine.refusal_reason(row):
                reading.reject(record.file, record.line, f"the passage {record.id!r}: {reason}")
            else:
                yield row

    def _with_vectors(self, batch: list[EngineRow]) -> list[EngineRow]:
        if not self.model:
            return batch
        vectors = self.model.passages([searchable_text(row.passage) for row in batch]).tolist()
        return [row._replace(vector=vector) for row, vector in zip(batch, vectors, strict=True)]

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(source=self.corpus.path.name, passages=self.passages, fingerprint=self._digest.hexdigest())

    def corpus_facts(self) -> CorpusFacts:
        """Return what was stored."""
        return CorpusFacts(
            source=self.corpus.path.name,
            format=self.corpus.format,
            passages=self.passages,
            skipped=self.reading.skipped,
            fingerprint=self._digest.hexdigest(),
        )


def _not_unicode(passage: StoredPassage) -> str:
    try:
        encode_passage(passage)
    except UnicodeEncodeError:
        return "it is not valid UTF-8"
    return ""


def _in_batches(rows: Iterator[EngineRow]) -> Iterator[list[EngineRow]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch
