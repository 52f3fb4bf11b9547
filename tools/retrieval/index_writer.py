"""Writing the passages of an index: those of some files are read, those of others copied from the old index."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import Corpus, CorpusReading, SourceRecord
from hopgraph.tools.retrieval.index import searchable_text
from hopgraph.tools.retrieval.index_sources import FilePlan, IndexedFile, IndexedSource, SourcePlan
from hopgraph.tools.retrieval.passage_store import (
    PassageStore,
    PassageWriter,
    StoredPassage,
    reason_not_to_store,
    write_passages,
)
from hopgraph.tools.retrieval.ranking import TermIds
from hopgraph.tools.retrieval.staging import Progress
from hopgraph.tools.text import Analyser

_EVERY = 1000


@dataclass
class IndexWriter:
    """Writes the passages of an index to a folder of its own, and numbers their terms."""

    folder: Path
    analyser: Analyser
    corpus: Corpus | None
    """What is read; None to copy only."""
    reading: CorpusReading
    progress: Progress
    old: PassageStore = ()
    deleted: frozenset[str] = frozenset()
    """Ids of passages that are not copied."""
    rows: dict[str, int] = field(default_factory=dict[str, int])
    """Id → line in the source, 0 for a copied passage; in the order of the rows."""
    known: int = 0
    """Records that the old index has already."""
    fingerprint: str = ""
    """Of the passages, once they are written."""

    def __post_init__(self) -> None:
        self.term_ids = TermIds(self.analyser)
        self._origins = array("q")
        self._copied: dict[str, int] = {}
        self._dropped: dict[bytes, int] = {}

    @property
    def origins(self) -> NDArray[np.int64]:
        """Return for each row the row of the old index with the same searchable text, -1 where there is none."""
        return np.frombuffer(self._origins, dtype=np.int64)

    def write(self, plans: Sequence[SourcePlan]) -> list[IndexedSource]:
        """Write what is planned, and return what became of it.

        Raises:
            BadRecordError: a record that cannot be used; with `skip_bad` it is counted instead.
            CorpusError: a file cannot be read, or there is nothing to search for.
        """
        files = [each for plan in plans for each in plan.files]
        self._note_old_passages(files)
        paths = [each.path for each in files if each.path]
        self.reading.only = frozenset(paths)
        size = sum(path.stat().st_size for path in paths if path.exists())
        records = groupby(self._records(size), key=lambda record: record.file)
        waiting = next(records, None)
        written: list[IndexedSource] = []
        with write_passages(self.folder) as writer:
            for plan in plans:
                done: list[IndexedFile] = []
                for each in plan.files:
                    is_read = waiting is not None and waiting[0] == each.path
                    done.append(self._write_file(each, waiting[1] if waiting and is_read else (), writer))
                    waiting = next(records, None) if is_read else waiting
                written.append(IndexedSource(path=plan.path, files=tuple(done), cutting=plan.cutting))
            if waiting:
                raise CorpusError(f"{waiting[0]}: the files changed while they were read; start again")
            if not self.term_ids.vocab:
                place = self.corpus.path if self.corpus else "what is left"
                reason = "; ".join(
                    ["no passage with a word that could be searched for", *self.reading.first_skipped[:1]]
                )
                raise CorpusError(f"{place}: {reason}")
        self.progress("read", size, size)
        self.fingerprint = writer.fingerprint()
        return written

    def _note_old_passages(self, files: Iterable[FilePlan]) -> None:
        copied = np.zeros(len(self.old), dtype=bool)
        for each in files:
            copied[each.rows.start : each.rows.stop] = True
        for row in range(len(self.old)):
            passage = self.old[row]
            if copied[row] and passage.id not in self.deleted:
                self._copied[passage.id] = row
            else:
                self._dropped[_digest(passage)] = row

    def _records(self, size: int) -> Iterable[SourceRecord]:
        records = self.corpus.records(self.reading) if self.corpus else ()
        for count, record in enumerate(records):
            if count % _EVERY == 0:
                self.progress("read", min(self.reading.bytes_read, size), size)
            yield record

    def _write_file(self, plan: FilePlan, records: Iterable[SourceRecord], writer: PassageWriter) -> IndexedFile:
        before, known = len(self.rows), self.known
        for row in plan.rows:
            if self._copied.get((passage := self.old[row]).id) == row:
                self._write(passage, 0, row, writer)
        for record in records:
            if problem := self._add(record, writer):
                self.reading.reject(record.file, record.line, problem)
        passages = len(self.rows) - before
        if plan.path is None:
            return plan.record.model_copy(update={"passages": passages})
        # What another source has as well is read again, as it may go from there.
        file_hash = plan.record.hash if self.known == known else ""
        skipped = self.reading.skipped_in[plan.path]
        return IndexedFile(name=plan.record.name, hash=file_hash, passages=passages, skipped=skipped)

    def _add(self, record: SourceRecord, writer: PassageWriter) -> str:
        """Add a record, unless it is copied anyway; return what is wrong with it, empty when nothing is."""
        passage = StoredPassage(record.id, record.title, record.text, record.metadata)
        if problem := reason_not_to_store(passage):
            return problem
        if record.id in self._copied:
            if self.old[self._copied[record.id]][:3] != passage[:3]:  # the old one's metadata stays
                return f"the id {record.id!r} is in the index already, with another text"
            self.known += 1
        elif record.id in self.rows:
            return f"the id {record.id!r} is that of line {self.rows[record.id]}, too"
        else:
            origin = self._dropped.pop(_digest(passage), -1) if self._dropped else -1
            self._write(passage, record.line, origin, writer)
        return ""

    def _write(self, passage: StoredPassage, line: int, origin: int, writer: PassageWriter) -> None:
        writer.add(passage)
        self.rows[passage.id] = line
        self._origins.append(origin)
        self.term_ids.add(searchable_text(passage))


def _digest(passage: StoredPassage) -> bytes:
    return blake2b(searchable_text(passage).encode(), digest_size=16).digest()
