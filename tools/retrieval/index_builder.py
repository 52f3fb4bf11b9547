"""Building an index on disk: one pass over the source, the scores of the numbered terms, then the vectors."""

import time
from dataclasses import dataclass
from pathlib import Path

from langchain_core.embeddings import Embeddings

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.retrieval.corpora import Corpus, ReadState, SourceRecord, open_corpus
from hopgraph.tools.retrieval.faiss_store import FOLDER as FAISS
from hopgraph.tools.retrieval.index import searchable_text
from hopgraph.tools.retrieval.index_manifest import (
    COLBERT,
    MANIFEST,
    Bm25Facts,
    CorpusFacts,
    DenseFacts,
    Manifest,
    is_index,
    load_analyser,
    read_manifest,
    write_manifest,
)
from hopgraph.tools.retrieval.passages import OFFSETS, PASSAGES, PassageFile, PassageWriter, StoredPassage
from hopgraph.tools.retrieval.progress import Progress, ignore_progress
from hopgraph.tools.retrieval.ranking import FOLDER, RANKS, compute_ranking
from hopgraph.tools.retrieval.shards import remove_shards
from hopgraph.tools.retrieval.staging import recover_stages, stage_folder
from hopgraph.tools.retrieval.term_ids import TermIds
from hopgraph.tools.retrieval.vector_build import plan_vectors
from hopgraph.tools.text import Analyser, get_analyser

__all__ = ["IndexReport", "Progress", "build_index"]
_OWN_FILES = frozenset({MANIFEST, PASSAGES, OFFSETS, FOLDER, RANKS, FAISS, COLBERT})
_EVERY = 1000


@dataclass(frozen=True)
class IndexReport:
    """What a build did."""

    path: Path
    format: str
    """The source's format, given or found."""
    passages: int
    """In the index, those that were there before included."""
    terms: int
    """Distinct terms."""
    skipped: int
    """Bad records that were passed over."""
    first_skipped: tuple[str, ...]
    """What was wrong with the first few of them, with file and line."""
    seconds: float
    before: int = 0
    """Passages of the index that was added to."""
    known: int = 0
    """Passages of the source that it had already."""
    dense: DenseFacts | None = None
    """How vectors are kept, if there are any."""
    reused: int = 0
    """Passages that a build which was broken off had embedded."""


def build_index(
    source: Path,
    out: Path,
    *,
    format: str | None = None,  # noqa: A002 - the name of the command line's option
    skip_bad: bool = False,
    language: str | None = None,
    dense: str | Embeddings | None = None,
    faiss: str | None = None,
    add: bool = False,
    progress: Progress | None = None,
) -> IndexReport:
    """Build an index of a corpus, which replaces an index that is there only once it is complete.

    Memory: for each passage its id, for each occurrence of a term some 16 bytes; never the texts.

    Args:
        source: a file or folder in one of the formats of `hopgraph.tools.retrieval.corpora`.
        out: the index's folder; missing, empty, or an index.
        format: the source's format; None to tell it from the content.
        skip_bad: pass over bad records and count them.
        language: the passages' language, by ISO code or English name: its words, stop words and stems. None:
            English, or that of the index that is added to.
        dense: an embedding model, by spec or as an object, to make vectors with; see `resolve_embeddings`. A build
            that is broken off keeps the vectors beside `out`, and the next one goes on from there.
        faiss: the kind of FAISS index; None to choose by the number of passages (see `faiss_store`).
        add: keep the passages of the index in `out` and put these behind them. BM25 is computed anew over all,
            vectors are made for the new ones alone. A passage that is there already, word for word, is passed over.
        progress: called now and then.

    Raises:
        SettingsError: no format, language or model has this name, a package is not installed, or the index that is
            added to has another language or kind.
        ModelError: the embedding model failed.
        BadRecordError: a record that cannot be read, is blank, or repeats an id; unless `skip_bad`.
        CorpusError: a source without passages or of no known format, or a place that cannot be written.
    """
    started = time.perf_counter()
    progress = progress or ignore_progress
    analyser = get_analyser(language or "en")
    analyser.describe()  # a package that is missing is told before anything is read
    corpus = open_corpus(source.expanduser(), format)
    goal = _checked_place(out.expanduser())
    old = _added_to(goal, language) if add else None
    if old:
        analyser = load_analyser(goal, old)
    plan = plan_vectors(dense, faiss, goal, old)
    vectors, reused = None, 0
    try:
        with stage_folder(goal) as folder:
            build = _Build(corpus, folder, analyser, ReadState(skip_bad), progress)
            if old:
                build.take_over(PassageFile(goal))
            build.read()
            if plan:
                plan.check(len(build.rows))
            terms = build.score()
            if plan:
                vectors, reused = plan.build(goal, folder, progress)
            build.finish(terms, vectors, old)
        if plan:
            remove_shards(goal)
    except OSError as error:
        raise _unwritable(goal, error) from None
    reading = build.reading
    return IndexReport(
        path=goal,
        format=corpus.format,
        passages=len(build.rows),
        terms=terms,
        skipped=reading.skipped,
        first_skipped=tuple(reading.first_skipped),
        seconds=time.perf_counter() - started,
        before=old.corpus.passages if old else 0,
        known=build.known,
        dense=vectors,
        reused=reused,
    )


class _Build:
    """One build in a folder of its own."""

    def __init__(
        self, corpus: Corpus, folder: Path, analyser: Analyser, reading: ReadState, progress: Progress
    ) -> None:
        self.corpus, self.folder, self.reading, self.progress = corpus, folder, reading, progress
        self.analyser = analyser
        self.rows: dict[str, int] = {}
        """Id → line in the source, 0 for what was taken over; in the order of the rows."""
        self.old: dict[str, int] = {}
        """Id → row of what was taken over."""
        self.old_passages: PassageFile | None = None
        self.known = 0
        """Records that were taken over already."""
        self.term_ids = TermIds(analyser)
        self.fingerprint = ""

    def take_over(self, passages: PassageFile) -> None:
        """Begin with the passages of an index."""
        self.old_passages = passages
        self.old = {passages[row].id: row for row in range(len(passages))}

    def read(self) -> None:
        """Write what is taken over and every good record's passage, and number their terms."""
        with PassageWriter(self.folder) as writer:
            for row in self.old.values():
                self._write(self._taken(row), 0, writer)
            for count, record in enumerate(self.corpus.records(self.reading)):
                if count % _EVERY == 0:
                    self.progress("read", self.reading.bytes_read, self.corpus.size)
                self._add(record, writer)
            if not self.term_ids.vocab:
                raise CorpusError(f"{self.corpus.path}: no passage with a word that could be searched for")
            self.fingerprint = writer.fingerprint()
        self.progress("read", self.corpus.size, self.corpus.size)

    def _add(self, record: SourceRecord, writer: PassageWriter) -> None:
        passage = StoredPassage(record.id, record.title, record.text)
        if not record.text.strip() or not record.id.strip():
            self.reading.reject(record.file, record.line, f"the passage {record.id!r} has no text or no id")
        elif record.id in self.old:
            if self._taken(self.old[record.id]) == passage:
                self.known += 1
            else:
                self.reading.reject(
                    record.file, record.line, f"the id {record.id!r} is in the index already, with another text"
                )
        elif (first := self.rows.get(record.id)) is not None:
            self.reading.reject(record.file, record.line, f"the id {record.id!r} is that of line {first}, too")
        else:
            try:
                self._write(passage, record.line, writer)
            except UnicodeEncodeError:
                self.reading.reject(record.file, record.line, f"the passage {record.id!r} is not valid UTF-8")

    def _taken(self, row: int) -> StoredPassage:
        assert self.old_passages is not None  # noqa: S101 - there are no rows without it
        return self.old_passages[row]

    def _write(self, passage: StoredPassage, line: int, writer: PassageWriter) -> None:
        writer.add(passage)
        self.rows[passage.id] = line
        self.term_ids.add(searchable_text(passage))

    def score(self) -> int:
        """Compute and save the scores; return the number of distinct terms."""
        self.progress("score", 0, None)
        ranking = compute_ranking(self.term_ids, list(self.rows))
        self.progress("save", 0, None)
        ranking.save(self.folder)
        return ranking.terms

    def finish(self, terms: int, dense: DenseFacts | None, old: Manifest | None) -> None:
        """Write the manifest."""
        facts = CorpusFacts(
            source=f"{old.corpus.source}, {self.corpus.path.name}" if old else self.corpus.path.name,
            format=old.corpus.format if old else self.corpus.format,
            passages=len(self.rows),
            skipped=self.reading.skipped + (old.corpus.skipped if old else 0),
            fingerprint=self.fingerprint,
        )
        write_manifest(self.folder, facts, Bm25Facts(terms=terms), self.analyser, dense)


def _added_to(goal: Path, language: str | None) -> Manifest:
    """Read the manifest of the index that is added to.

    Raises:
        CorpusError: there is none, or it is damaged. SettingsError: it cannot be added to in this way.
    """
    manifest = read_manifest(goal)
    had = manifest.analyser.get("language")
    if language is not None and get_analyser(language).describe().get("language") != had:
        raise SettingsError(f"{goal} is in the language {had!r}; leave --language out when adding to it")
    if (goal / COLBERT).exists():
        raise SettingsError(f"{goal} has vectors of --colbert, which cannot be added to; build the index anew")
    return manifest


def _checked_place(out: Path) -> Path:
    """Return the place with its links followed, as a build may replace it.

    Raises:
        CorpusError: something other than an index is there.
    """
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
