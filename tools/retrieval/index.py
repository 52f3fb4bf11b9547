"""An index: passages and their BM25 scores, on disk or in memory."""

import asyncio
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import SourceRecord
from hopgraph.tools.retrieval.index_manifest import DAMAGE, damaged, load_analyser, read_manifest
from hopgraph.tools.retrieval.passage_store import PassageFile, PassageStore, StoredPassage
from hopgraph.tools.retrieval.ranking import Ranking, TermIds, compute_ranking, load_ranking
from hopgraph.tools.text import DEFAULT_ANALYSER, Analyser

_SMALL_INDEX, _SHORT_QUERY = 20_000, 2_000
"""Passages and characters up to which a search takes less time than handing it to a thread."""
_searching = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hopgraph-bm25")
"""A thread per core: more are no faster, and each that waits for Python's lock delays the event loop."""


class Hit(NamedTuple):
    """A passage that a search found."""

    passage: StoredPassage
    score: float
    """BM25, above 0; not comparable between queries or indexes."""


@dataclass(frozen=True, eq=False)
class Index:
    """A searchable corpus. Any number of threads may search it at once."""

    source: str
    """The source in the passages' metadata, as `bm25:DIR` or `sample`."""
    passages: PassageStore
    ranking: Ranking
    analyser: Analyser = DEFAULT_ANALYSER
    """Of passages and queries."""

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self.passages)

    def search(self, query: str, k: int) -> list[Hit]:
        """Find at most k passages that share terms with a query of any length, best first, equal scores by id."""
        return [Hit(self.passages[row], score) for row, score in self.search_rows(query, k)]

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Search without blocking the event loop for longer than a hand-over to a thread would."""
        if len(self) <= _SMALL_INDEX and len(query) <= _SHORT_QUERY:
            return self.search(query, k)
        return await asyncio.get_running_loop().run_in_executor(_searching, self.search, query, k)

    def search_rows(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the row and the score of each passage that `search` finds."""
        try:
            return self.ranking.search(self.analyser.terms(query), k)
        except DAMAGE as error:  # a file has numbers that lead nowhere
            raise damaged(self.source, error) from None


def open_index(path: Path, source: str | None = None) -> Index:
    """Open the index in a folder; neither passages nor scores are read before a search needs them.

    `source` is what it is called in the passages' metadata, `bm25:PATH` when None.

    Raises:
        CorpusError: there is no index, or it is damaged, of another format version, or made with another analyser.
    """
    path = path.expanduser()
    analyser = load_analyser(path, read_manifest(path).analyser)
    passages = PassageFile(path)
    return Index(source or f"bm25:{path}", passages, load_ranking(path, len(passages)), analyser)


def index_in_memory(records: Iterable[SourceRecord], source: str, analyser: Analyser = DEFAULT_ANALYSER) -> Index:
    """Index a small corpus in memory; CorpusError where an id occurs twice, or there is nothing to search for."""
    passages = [StoredPassage(record.id, record.title, record.text, record.metadata) for record in records]
    ids = [passage.id for passage in passages]
    if len(set(ids)) != len(ids):
        raise CorpusError(f"{source}: an id occurs twice")
    term_ids = TermIds(analyser)
    for passage in passages:
        term_ids.add(searchable_text(passage))
    if not term_ids.vocab:
        raise CorpusError(f"{source}: no word that could be searched for")
    return Index(source, passages, compute_ranking(term_ids, ids), analyser)


def searchable_text(passage: StoredPassage) -> str:
    """Return what of a passage is searched: its title and its text."""
    return f"{passage.title} {passage.text}"
