"""Building an index on disk: one pass over the source, then the scores of the numbered terms."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hopgraph.state import CorpusError
from hopgraph.tools.corpora import Corpus, Reading, SourceRecord, open_corpus
from hopgraph.tools.retrieval.index import searched_text
from hopgraph.tools.retrieval.manifest import MANIFEST, Bm25Facts, CorpusFacts, is_index, write_manifest
from hopgraph.tools.retrieval.passages import OFFSETS, PASSAGES, PassageWriter, StoredPassage
from hopgraph.tools.retrieval.ranking import FOLDER, RANKS, compute_ranking
from hopgraph.tools.retrieval.staging import staged
from hopgraph.tools.retrieval.term_ids import TermIds
from hopgraph.tools.text import DEFAULT_ANALYSER

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, how much is done, and of how much: `read` in bytes, then `score` and `save`, of None."""
_OWN_FILES = frozenset({MANIFEST, PASSAGES, OFFSETS, FOLDER, RANKS})
_EVERY = 1000


@dataclass(frozen=True)
class IndexReport:
    """What a build did."""

    path: Path
    format: str
    """The source's format, given or found."""
    passages: int
    terms: int
    """Distinct terms."""
    skipped: int
    """Bad records that were passed over."""
    first_skipped: tuple[str, ...]
    """What was wrong with the first few of them, with file and line."""
    seconds: float


def build_index(
    source: Path,
    out: Path,
    *,
    format: str | None = None,  # noqa: A002 - the name of the command line's option
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> IndexReport:
    """Build an index of a corpus, which replaces an index that is there only once it is complete.

    Memory: for each passage its id, for each occurrence of a term some 40 bytes; never the texts.

    Args:
        source: a file or folder in one of the formats of `hopgraph.tools.corpora`.
        out: the index's folder; missing, empty, or an index.
        format: the source's format; None to tell it from the content.
        skip_bad: pass over bad records and count them.
        progress: called now and then.

    Raises:
        SettingsError: no format has this name.
        BadRecordError: a record that cannot be read, is blank, or repeats an id; unless `skip_bad`.
        CorpusError: a source without passages or of no known format, or a place that cannot be written.
    """
    started = time.perf_counter()
    corpus = open_corpus(source.expanduser(), format)
    goal = _checked_place(out.expanduser())
    try:
        with staged(goal) as folder:
            build = _Build(corpus, folder, Reading(skip_bad), progress or _silent)
            build.read()
            terms = build.score()
    except OSError as error:
        raise _unwritable(goal, error) from None
    reading = build.reading
    return IndexReport(
        goal,
        corpus.format,
        len(build.rows),
        terms,
        reading.skipped,
        tuple(reading.first_skipped),
        time.perf_counter() - started,
    )


class _Build:
    """One build in a folder of its own."""

    def __init__(self, corpus: Corpus, folder: Path, reading: Reading, progress: Progress) -> None:
        self.corpus, self.folder, self.reading, self.progress = corpus, folder, reading, progress
        self.rows: dict[str, int] = {}
        """Id → line in the source; in the order of the rows."""
        self.term_ids = TermIds(DEFAULT_ANALYSER)
        self.fingerprint = ""

    def read(self) -> None:
        """Write every good record's passage and number its terms."""
        with PassageWriter(self.folder) as writer:
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
            self.reading.bad(record.file, record.line, f"the passage {record.id!r} has no text or no id")
        elif (first := self.rows.get(record.id)) is not None:
            self.reading.bad(record.file, record.line, f"the id {record.id!r} is that of line {first}, too")
        else:
            try:
                writer.add(passage)
            except UnicodeEncodeError:
                self.reading.bad(record.file, record.line, f"the passage {record.id!r} is not valid UTF-8")
                return
            self.rows[record.id] = record.line
            self.term_ids.add(searched_text(passage))

    def score(self) -> int:
        """Compute and save the scores, then the manifest; return the number of distinct terms."""
        self.progress("score", 0, None)
        ranking = compute_ranking(self.term_ids, list(self.rows))
        self.progress("save", 0, None)
        ranking.save(self.folder)
        facts = CorpusFacts(
            source=self.corpus.path.name,
            format=self.corpus.format,
            passages=len(self.rows),
            skipped=self.reading.skipped,
            fingerprint=self.fingerprint,
        )
        write_manifest(self.folder, facts, Bm25Facts(terms=ranking.terms))
        return ranking.terms


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
        names = {path.name for path in goal.iterdir()} if goal.exists() else set[str]()
    except OSError as error:
        raise _unwritable(out, error) from None
    if names and (not is_index(goal) or not names <= _OWN_FILES):
        others = ", ".join(sorted(names - _OWN_FILES)[:3]) or MANIFEST
        raise CorpusError(f"{out} is not, or not only, an index (it has {others}); choose another place, or remove it")
    return goal


def _unwritable(out: Path, error: OSError) -> CorpusError:
    return CorpusError(f"{out}: the index cannot be written: {error.strerror or error}")


def _silent(_stage: str, _done: int, _total: int | None) -> None:
    """Show no progress."""
