"""Building an index on disk: one pass over the source, the scores of the numbered terms, then the vectors."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from langchain_core.embeddings import Embeddings

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.retrieval.corpora import Corpus, CorpusReading, SourceRecord, open_corpus
from hopgraph.tools.retrieval.dense import VectorPlan, plan_vectors
from hopgraph.tools.retrieval.faiss_store import FOLDER as FAISS
from hopgraph.tools.retrieval.faiss_store import choose_kind
from hopgraph.tools.retrieval.index import searchable_text
from hopgraph.tools.retrieval.index_manifest import (
    COLBERT,
    MANIFEST,
    CorpusFacts,
    DenseFacts,
    Manifest,
    is_index,
    load_analyser,
    read_manifest,
    write_manifest,
)
from hopgraph.tools.retrieval.passage_store import (
    OFFSETS,
    PASSAGES,
    PassageFile,
    PassageStore,
    PassageWriter,
    StoredPassage,
    reason_not_to_store,
    write_passages,
)
from hopgraph.tools.retrieval.ranking import FOLDER, RANKS, TermIds, compute_ranking
from hopgraph.tools.retrieval.shards import remove_shards
from hopgraph.tools.retrieval.staging import Progress, ignore_progress, recover_stages, stage_folder
from hopgraph.tools.text import Analyser, get_analyser

__all__ = ["IndexReport", "Progress", "build_index"]
_OWN_FILES = frozenset({MANIFEST, PASSAGES, OFFSETS, FOLDER, RANKS, FAISS, COLBERT})
_EVERY = 1000


@dataclass(frozen=True)
class IndexReport:
    """The result of a build."""

    path: Path
    format: str
    """The source's format, given or detected."""
    passages: int
    """In the index, those that were there before included."""
    terms: int
    """Distinct terms."""
    left_out: str
    """How many files of a folder were not read, by suffix."""
    skipped: int
    """Bad records."""
    first_skipped: tuple[str, ...]
    """What was wrong with the first few of them, with file and line."""
    seconds: float
    before: int = 0
    """Passages of the index that was added to."""
    known: int = 0
    """Passages of the source that it had already."""
    dense: DenseFacts | None = None
    """How vectors are stored, if there are any."""
    reused: int = 0
    """Passages that an interrupted build had embedded."""


def build_index(
    source: Path,
    out: Path,
    *,
    format: str | None = None,  # noqa: A002 - the name of the command line's option
    skip_bad: bool = False,
    follow_links: bool = False,
    language: str | None = None,
    dense: str | Embeddings | None = None,
    faiss: str | None = None,
    add: bool = False,
    progress: Progress | None = None,
) -> IndexReport:
    """Index a file or folder in one of the formats of `corpora` into the folder `out`, missing, empty, or an index.

    An existing index is replaced once the new one is complete; with `add` its passages come first, BM25 is computed
    over all, vectors are made for new passages only, and a passage that is there word for word is left out. A None
    stands for the detected `format`; for English or the `language` of the index added to; for no embedding model
    (`dense`; an interrupted build keeps its vectors beside `out`, for the next one); for the kind of `faiss` index that
    fits the number of passages. Memory: each passage's id, 16 bytes per occurrence of a term; never the texts.

    Raises:
        SettingsError: an unknown format, language or model, a missing package, or an index of another kind to add to.
        ModelError: the embedding model failed.
        BadRecordError: a record that is unreadable, blank, or repeats an id; with `skip_bad` it is counted instead.
        CorpusError: a source without passages or of no known format, or a place that cannot be written.
    """
    started = time.perf_counter()
    analyser = get_analyser(language or "en")
    analyser.describe()  # fails before anything is read where a package is missing
    corpus = open_corpus(source.expanduser(), format, follow_links=follow_links)
    goal = _check_place(out.expanduser())
    old = _read_index_to_extend(goal, language) if add else None
    plan = plan_vectors(dense, faiss, goal, old)
    try:
        with stage_folder(goal) as folder:
            used = load_analyser(goal, old.analyser) if old else analyser
            build = _Build(corpus, folder, used, CorpusReading(skip_bad), progress or ignore_progress)
            report = build.run(goal, plan, old)
        if plan:
            remove_shards(goal)
    except OSError as error:
        raise _unwritable(goal, error) from None
    return replace(report, seconds=time.perf_counter() - started)


@dataclass
class _Build:
    """One build in a folder of its own."""

    corpus: Corpus
    folder: Path
    analyser: Analyser
    reading: CorpusReading
    progress: Progress
    rows: dict[str, int] = field(default_factory=dict[str, int])
    """Id → line in the source, 0 for a passage of the old index; in the order of the rows."""
    old_rows: dict[str, int] = field(default_factory=dict[str, int])
    """Id → row in the old index."""
    known: int = 0
    """Records that the old index has already."""

    has_metadata: bool = False

    def __post_init__(self) -> None:
        self.term_ids = TermIds(self.analyser)

    def run(self, goal: Path, plan: VectorPlan | None, old: Manifest | None) -> IndexReport:
        """Write every file of the index."""
        fingerprint = self.read(PassageFile(goal) if old else [])
        if plan:
            choose_kind(len(self.rows), plan.kind)  # fails before anything is embedded
        self.progress("score", 0, None)
        ranking = compute_ranking(self.term_ids, list(self.rows))
        self.progress("save", 0, None)
        ranking.save(self.folder)
        dense, reused = plan.build(goal, self.folder, self.progress) if plan else (None, 0)
        before = old.corpus if old else None
        facts = CorpusFacts(
            source=f"{before.source}, {self.corpus.path.name}" if before else self.corpus.path.name,
            format=before.format if before else self.corpus.format,
            passages=len(self.rows),
            skipped=self.reading.skipped + (before.skipped if before else 0),
            fingerprint=fingerprint,
        )
        terms = len(self.term_ids.vocab)
        write_manifest(self.folder, facts, terms, self.analyser, dense, has_metadata=self.has_metadata)
        return IndexReport(
            path=goal,
            format=self.corpus.format,
            passages=len(self.rows),
            terms=terms,
            left_out=self.corpus.left_out,
            skipped=self.reading.skipped,
            first_skipped=tuple(self.reading.first_skipped),
            seconds=0.0,
            before=before.passages if before else 0,
            known=self.known,
            dense=dense,
            reused=reused,
        )

    def read(self, old: PassageStore) -> str:
        """Write the old index's passages and every good record's, number their terms; return their fingerprint."""
        with write_passages(self.folder) as writer:
            for row in range(len(old)):
                self.old_rows[old[row].id] = row
                self._write(old[row], 0, writer)
            for count, record in enumerate(self.corpus.records(self.reading)):
                if count % _EVERY == 0:
                    self.progress("read", self.reading.bytes_read, self.corpus.size)
                if problem := self._add(record, old, writer):
                    self.reading.reject(record.file, record.line, problem)
            if not self.term_ids.vocab:
                raise CorpusError(f"{self.corpus.path}: no passage with a word that could be searched for")
        self.progress("read", self.corpus.size, self.corpus.size)
        self.has_metadata = writer.has_metadata
        return writer.fingerprint()

    def _add(self, record: SourceRecord, old: PassageStore, writer: PassageWriter) -> str:
        """Add a record, unless the old index has it; return what is wrong with it, empty when nothing is."""
        passage = StoredPassage(record.id, record.title, record.text, record.metadata)
        if problem := reason_not_to_store(passage):
            return problem
        if record.id in self.old_rows:
            if old[self.old_rows[record.id]][:3] != passage[:3]:  # the old one's metadata stays
                return f"the id {record.id!r} is in the index already, with another text"
            self.known += 1
        elif record.id in self.rows:
            return f"the id {record.id!r} is that of line {self.rows[record.id]}, too"
        else:
            self._write(passage, record.line, writer)
        return ""

    def _write(self, passage: StoredPassage, line: int, writer: PassageWriter) -> None:
        writer.add(passage)
        self.rows[passage.id] = line
        self.term_ids.add(searchable_text(passage))


def _read_index_to_extend(goal: Path, language: str | None) -> Manifest:
    """Return the manifest of an index that is to be added to, and make sure that it can be."""
    manifest = read_manifest(goal)
    had = manifest.analyser.get("language")
    if language is not None and get_analyser(language).describe().get("language") != had:
        raise SettingsError(f"{goal} is in the language {had!r}; leave --language out when adding to it")
    if (goal / COLBERT).exists():
        raise SettingsError(f"{goal} has vectors of --colbert, which cannot be added to; build the index anew")
    return manifest


def _check_place(out: Path) -> Path:
    """Return the place with its links followed; refuse one where something other than an index is."""
    try:
        goal = out.resolve()
        nearest = next(path for path in (goal, *goal.parents) if path.exists())
        if not nearest.is_dir():
            raise CorpusError(f"{out}: {nearest} is a file; choose another place for the index")
        recover_stages(goal / COLBERT)  # clears away what a killed encoding left in the index
        names = {path.name for path in goal.iterdir()} if goal.exists() else set[str]()
    except OSError as error:
        raise _unwritable(out, error) from None
    if names and (not is_index(goal) or not names <= _OWN_FILES):
        others = ", ".join(sorted(names - _OWN_FILES)[:3]) or MANIFEST
        raise CorpusError(f"{out} is not, or not only, an index (it has {others}); choose another place, or remove it")
    return goal


def _unwritable(out: Path, error: OSError) -> CorpusError:
    return CorpusError(f"{out}: the index cannot be written: {error.strerror or error}")
