"""Write an index: some files are read, the rest is copied from the old index."""

from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby
from pathlib import Path

import numpy as np

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import Corpus, CorpusReading, SourceRecord
from hopgraph.tools.retrieval.dense import VectorPlan
from hopgraph.tools.retrieval.faiss_store import choose_kind
from hopgraph.tools.retrieval.index import TermIds, compute_bm25, searchable_text
from hopgraph.tools.retrieval.index_manifest import COLBERT, CorpusInfo, DenseInfo, Manifest, write_manifest
from hopgraph.tools.retrieval.index_sources import (
    FileChanges,
    FilePlan,
    IndexedFile,
    IndexedSource,
    SourcePlan,
    write_sources,
)
from hopgraph.tools.retrieval.late_interaction import update_late_interaction
from hopgraph.tools.retrieval.links import find_links
from hopgraph.tools.retrieval.passage_metadata import LANGUAGE
from hopgraph.tools.retrieval.passage_store import (
    PassageFile,
    PassageStore,
    StoredPassage,
    reason_not_to_store,
    write_passages,
)
from hopgraph.tools.retrieval.staging import Progress
from hopgraph.tools.text import Analyzer
from hopgraph.tools.text.languages import MixedAnalyzer, make_mixed_analyzer

_REPORT_EVERY = 1000


@dataclass(frozen=True)
class IndexReport:
    """The result of a build or an update."""

    path: Path
    format: str
    """The source's format, given or detected."""
    passages: int
    """In the index, including those that were already there."""
    terms: int
    left_out: str
    """Number of files of a folder that were not read, by suffix."""
    skipped: int = 0
    """Invalid records, including those in files that an update did not read."""
    first_skipped: tuple[str, ...] = ()
    """Errors of the first few, with file and line."""
    notes: tuple[str, ...] = ()
    """Files that were not UTF-8, and their encodings."""
    seconds: float = 0.0
    before: int = 0
    """Passages in the index before the update."""
    known: int = 0
    """Passages of the source that were already in the index."""
    dense: DenseInfo | None = None
    reused: int = 0
    """Passages that an interrupted build had embedded."""
    changes: FileChanges | None = None
    """What an update found; None for a new index."""


@dataclass
class IndexWriter:
    """Writes an index that replaces the old one, if any."""

    target: Path
    corpus: Corpus | None
    """The corpus to read; None to copy only."""
    analyzer: Analyzer
    vectors: VectorPlan | None
    reading: CorpusReading
    progress: Progress
    old: Manifest | None = None
    deleted: frozenset[str] = frozenset()
    """Ids of passages not to copy."""

    def __post_init__(self) -> None:
        self._old_passages: PassageStore = ()
        self._term_ids = TermIds(self.analyzer)
        self._rows: dict[str, int] = {}
        """Id → line in the source, 0 for a copied passage; in row order."""
        self._known = 0
        self._origins = array("q")
        """For each row, the row of the old index with the same searchable text, or -1."""
        self._copied: dict[str, int] = {}
        self._dropped: dict[bytes, int] = {}

    def write(self, folder: Path, plans: Sequence[SourcePlan]) -> IndexReport:
        """Write every file of the index to a folder that will become `target`.

        BadRecordError for an invalid record, unless `skip_invalid` counts it; CorpusError if a file cannot be read, or
        no passage has a searchable term.
        """
        sources: list[IndexedSource] = []
        fingerprint = write_passages(folder, self._passages(plans, sources))
        ids, terms, origins = list(self._rows), len(self._term_ids.vocab), np.frombuffer(self._origins, dtype=np.int64)
        if self.vectors and not self.vectors.old:
            choose_kind(len(ids), self.vectors.kind)  # raises before anything is embedded
        self.progress("score", 0, None)
        bm25 = compute_bm25(self._term_ids, ids)
        self.progress("save", 0, None)
        bm25.save(folder)
        mixed = isinstance(self.analyzer, MixedAnalyzer)
        analyzer = make_mixed_analyzer(self._term_ids.languages) if mixed else self.analyzer
        del bm25, self._term_ids  # frees memory for the links
        self.progress("links", 0, None)
        find_links(PassageFile(folder)).save(folder)
        write_sources(folder, sources)
        dense, reused = None, 0
        if self.vectors:
            dense, reused = self.vectors.build(self.target, folder, origins, fingerprint, self.progress)
        formats = [each.format for each in (self.corpus, self.old and self.old.corpus) if each]
        info = CorpusInfo(
            source=", ".join((self.target.parent / each.path).resolve().name for each in sources),
            format=formats[-1],
            passages=len(ids),
            skipped=sum(file.skipped for source in sources for file in source.files),
            fingerprint=fingerprint,
        )
        write_manifest(folder, info, terms, analyzer, dense)
        if self.old and (self.target / COLBERT).exists():
            update_late_interaction(self.target, folder, origins, fingerprint, self.progress)
        return IndexReport(
            path=self.target,
            format=formats[0],
            passages=len(ids),
            terms=terms,
            left_out=self.corpus.left_out if self.corpus else "",
            skipped=self.reading.skipped,
            first_skipped=tuple(self.reading.first_skipped),
            notes=tuple(self.reading.notes),
            before=len(self._old_passages),
            known=self._known,
            dense=dense,
            reused=reused,
        )

    def _passages(self, plans: Sequence[SourcePlan], written: list[IndexedSource]) -> Iterator[StoredPassage]:
        """Yield the passages of the index, and append their sources to `written`."""
        files = [each for _, planned in plans for each in planned]
        if self.old:
            self._old_passages = PassageFile(self.target)
            self._note_old_passages(files)
        paths = tuple(each.path for each in files if each.path)
        size = sum(path.stat().st_size for path in paths if path.exists())
        records = groupby(self._records(paths, size), key=lambda record: record.file)
        waiting = next(records, None)
        for source, planned in plans:
            done: list[IndexedFile] = []
            for each in planned:
                is_read = waiting is not None and waiting[0] == each.path
                done.append((yield from self._passages_of(each, waiting[1] if waiting and is_read else ())))
                waiting = next(records, None) if is_read else waiting
            written.append(source.model_copy(update={"files": tuple(done)}))
        if waiting:
            raise CorpusError(f"{waiting[0]}: the files changed while being read; start again")
        if not self._term_ids.vocab:
            place = self.corpus.path if self.corpus else "what is left"
            reasons = ["no passage has a searchable word", *self.reading.first_skipped[:1]]
            raise CorpusError(f"{place}: {'; '.join(reasons)}")
        self.progress("read", size, size)

    def _note_old_passages(self, files: Iterable[FilePlan]) -> None:
        copied = np.zeros(len(self._old_passages), dtype=bool)
        for each in files:
            copied[each.rows.start : each.rows.stop] = True
        for row in range(len(copied)):
            passage = self._old_passages[row]
            if copied[row] and passage.id not in self.deleted:
                self._copied[passage.id] = row
            else:
                self._dropped[_digest(passage)] = row

    def _records(self, paths: tuple[Path, ...], size: int) -> Iterator[SourceRecord]:
        records = replace(self.corpus, files=paths).records(self.reading) if self.corpus else ()
        for count, record in enumerate(records):
            if count % _REPORT_EVERY == 0:
                self.progress("read", min(self.reading.bytes_read, size), size)
            yield record

    def _passages_of(
        self, plan: FilePlan, records: Iterable[SourceRecord]
    ) -> Generator[StoredPassage, None, IndexedFile]:
        before, known = len(self._rows), self._known
        for row in plan.rows:
            if self._copied.get((passage := self._old_passages[row]).id) == row:
                yield self._add(passage, 0, row)
        for record in records:
            passage = StoredPassage(record.id, record.title, record.text, record.metadata)
            if problem := reason_not_to_store(passage) or self._conflict(passage):
                self.reading.reject(record.file, record.line, problem)
            elif passage.id in self._copied:
                self._known += 1
            else:
                origin = self._dropped.pop(_digest(passage), -1) if self._dropped else -1
                yield self._add(passage, record.line, origin)
        done = plan.record.model_copy(update={"passages": len(self._rows) - before})
        if plan.path is None:
            return done
        # Passages that another source has as well are read again next time, since they may vanish from there.
        file_hash = done.hash if self._known == known else ""
        skipped, problems = self.reading.skipped_in[plan.path], tuple(self.reading.problems_in[plan.path]) or None
        return done.model_copy(update={"hash": file_hash, "skipped": skipped, "problems": problems})

    def _conflict(self, passage: StoredPassage) -> str:
        """Return which other passage has the same id; empty if none, or if the old index has the same text."""
        copied = self._copied.get(passage.id)
        if copied is not None and self._old_passages[copied][:3] != passage[:3]:  # the old metadata is kept
            return f"the id {passage.id!r} is already in the index, with another text"
        if copied is None and passage.id in self._rows:
            return f"the id {passage.id!r} is also on line {self._rows[passage.id]}"
        return ""

    def _add(self, passage: StoredPassage, line: int, origin: int) -> StoredPassage:
        self._rows[passage.id] = line
        self._origins.append(origin)
        self._term_ids.add(searchable_text(passage), str(passage.metadata.get(LANGUAGE, "")))
        return passage


def _digest(passage: StoredPassage) -> bytes:
    return blake2b(searchable_text(passage).encode(), digest_size=16).digest()
