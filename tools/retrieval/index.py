"""An index: passages and their BM25 scores, by bm25s, on disk or in memory; the order does not depend on chance."""

import asyncio
import math
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import SourceRecord
from hopgraph.tools.retrieval.index_folder import open_one_build
from hopgraph.tools.retrieval.index_manifest import DAMAGE, K1, B, damaged, load_analyser, map_array, read_manifest
from hopgraph.tools.retrieval.passage_store import PassageFile, PassageStore, StoredPassage
from hopgraph.tools.text import DEFAULT_ANALYSER, Analyser

# bm25s has no type stubs. It is imported with this module, not on the first use, as that is slow when it
# finds numba or scipy beside it, neither of which is needed.
bm25s: Any = import_module("bm25s")

FOLDER, RANKS = "bm25", "ranks.npy"
_STOP = -1
_ROWS = 1 << 14  # passages that are looked at together
_SMALL_INDEX, _SHORT_QUERY = 20_000, 2_000
"""Passages and characters up to which a search takes less time than handing it to a thread."""
_searching = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hopgraph-bm25")
"""A thread per core: more are no faster, and each that waits for Python's lock delays the event loop."""


class _TermNumbers(dict[str, int]):
    """Word → number of its term; a word is stemmed once, when it is met first."""

    def __init__(self, analyser: Analyser, vocab: dict[str, int]) -> None:
        super().__init__()
        self._analyser, self._vocab = analyser, vocab

    def __missing__(self, word: str) -> int:
        term = self._analyser.term(word)
        number = self[word] = _STOP if term is None else self._vocab.setdefault(term, len(self._vocab))
        return number


class TermIds:
    """The terms of every passage as numbers, four bytes for each occurrence, in the order of the passages."""

    def __init__(self, analyser: Analyser) -> None:
        self.vocab: dict[str, int] = {}
        """Term → number, from 0, in the order in which the terms were met."""
        self._analyser = analyser
        self.languages: dict[str, _TermNumbers] = {}
        """Language of passages → its words' numbers."""
        self._numbers, self._ends = array("i"), array("q", [0])

    def add(self, text: str, language: str = "") -> None:
        """Append a passage in a language, as far as it is known; it may have no terms."""
        analyser = self._analyser.choose(language)
        number_of = self.languages.setdefault(analyser.language, _TermNumbers(analyser, self.vocab))
        self._numbers.extend([number for word in analyser.words(text) if (number := number_of[word]) != _STOP])
        self._ends.append(len(self._numbers))

    def numbers(self) -> NDArray[np.int32]:
        """Return the numbers of all passages, one after the other, without a copy."""
        return np.frombuffer(self._numbers, dtype=np.int32)

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of terms of each passage."""
        return np.diff(np.frombuffer(self._ends, dtype=np.int64))


class Ranking:
    """The BM25 scores of a corpus, and the places of its passages in the order of their ids."""

    def __init__(self, scorer: Any, ranks: NDArray[np.int32]) -> None:
        self._scorer = scorer
        self.ranks = ranks
        """The place of each passage in the order of the ids, which decides between equal scores."""
        self._number_of: dict[str, int] = scorer.vocab_dict

    def search(self, terms: Sequence[str], k: int) -> list[tuple[int, float]]:
        """Return at most k rows and scores, best first, then by id; a repeated term counts each time."""
        numbers = [self._number_of[term] for term in terms if term in self._number_of]
        if not numbers or k < 1:
            return []
        scores: NDArray[np.float32] = self._scorer.get_scores_from_ids(numbers)
        # The k best scores above 0, with all that equal the last of them: many times faster than bm25s's argpartition
        # where most scores are 0, and it shows all ties.
        last = np.partition(scores, -k)[-k] if k < len(scores) else 0
        rows = np.flatnonzero(scores >= last) if last > 0 else np.flatnonzero(scores)
        found = scores[rows]
        order = np.lexsort((self.ranks[rows], -found))[:k]
        return list(zip(rows[order].tolist(), found[order].tolist(), strict=True))

    def save(self, folder: Path) -> None:
        """Write bm25s's own files and the ranks."""
        self._scorer.save(folder / FOLDER, show_progress=False)
        np.save(folder / RANKS, self.ranks, allow_pickle=False)


def compute_ranking(term_ids: TermIds, ids: Sequence[str]) -> Ranking:
    """Compute the scores of a corpus with at least one term; `ids` are those of its passages.

    The same numbers as `bm25s.BM25.index` computes passage by passage, to the last bit; a test compares the two.
    """
    lengths, passages_with = term_ids.lengths(), np.zeros(len(term_ids.vocab), dtype=np.int64)
    for _, terms, often, _ in _occurrences(term_ids):
        passages_with[terms] += often
    ends = np.concatenate(([0], np.cumsum(passages_with)))
    scores, rows = np.empty(ends[-1], dtype=np.float32), np.empty(ends[-1], dtype=np.int32)
    norms = K1 * ((1 - B) + B * lengths / lengths.mean())
    distinct, place = np.unique(passages_with, return_inverse=True)
    weights = [math.log(1 + (len(ids) - n + 0.5) / (n + 0.5)) for n in distinct.tolist()]  # Lucene's, never negative
    idf, free = np.array(weights, dtype=np.float32)[place], ends[:-1].copy()
    for found, terms, often, counts in _occurrences(term_ids):
        # The passages of a term come after those that earlier rounds found.
        places = np.arange(len(found)) + np.repeat(free[terms] - (np.cumsum(often) - often), often)
        free[terms] += often
        tf = counts.astype(np.float32)
        scores[places] = np.repeat(idf[terms], often) * (tf / (norms[found] + tf))
        rows[places] = found
    scorer = bm25s.BM25(k1=K1, b=B, method="lucene")
    scorer.scores = {"data": scores, "indices": rows, "indptr": ends, "num_docs": len(ids)}
    scorer.vocab_dict = term_ids.vocab
    scorer.nonoccurrence_array = None
    ranks = np.empty(len(ids), dtype=np.int32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    return Ranking(scorer, ranks)


def _occurrences(term_ids: TermIds) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Yield, some passages at a time, every term and passage that meet, by term and then by row.

    These are the rows; each term that is there, with the number of its rows; and how often each row has its term.
    """
    numbers, lengths = term_ids.numbers(), term_ids.lengths()
    ends = np.cumsum(lengths)
    for first in range(0, len(lengths), _ROWS):
        some = slice(first, first + _ROWS)
        keys = numbers[ends[first] - lengths[first] : ends[some][-1]].astype(np.int64) << 32
        keys |= np.repeat(np.arange(first, first + len(lengths[some])), lengths[some])
        keys, counts = np.unique(keys, return_counts=True)
        terms, often = np.unique(keys >> 32, return_counts=True)
        yield keys & 0xFFFFFFFF, terms, often, counts


def load_ranking(folder: Path, passages: int) -> Ranking:
    """Map what `Ranking.save` wrote for so many passages, reading the vocabulary only; CorpusError where damaged."""
    try:
        scorer = bm25s.BM25.load(folder / FOLDER, mmap=True, show_progress=False)
        # Plain views of the mapped files: numpy's memmap class makes each slice, so each term, slower.
        arrays = {name: np.asarray(scorer.scores[name]) for name in ("data", "indices", "indptr")}
        scorer.scores.update(arrays)
        if scorer.scores["num_docs"] != passages:
            raise ValueError(f"it has scores of {scorer.scores['num_docs']} passages instead of {passages}")
    except DAMAGE as error:
        raise damaged(folder / FOLDER, error) from None
    return Ranking(scorer, map_array(folder / RANKS, passages))


class Hit(NamedTuple):
    """A passage that a search found."""

    passage: StoredPassage
    score: float
    """Not comparable between queries or indexes; BM25's is above 0."""
    row: int | None = None
    """Its row in an index on disk or in memory."""
    linked_from: str = ""
    """The title of the passage whose link brought it here."""


@dataclass(frozen=True, eq=False)
class Index:
    """A searchable corpus. Any number of threads may search it at once."""

    source: str
    """The source in the passages' metadata, e.g. `bm25:DIR` or `sample`."""
    passages: PassageStore
    ranking: Ranking
    analyser: Analyser = DEFAULT_ANALYSER

    def __len__(self) -> int:
        return len(self.passages)

    def search(self, query: str, k: int) -> list[Hit]:
        """Find at most k passages that share terms with a query of any length, best first, equal scores by id."""
        return [Hit(self.passages[row], score, row) for row, score in self.search_rows(query, k)]

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Search without blocking the event loop for longer than a hand-over to a thread would."""
        return await self.briefly(self.search, query, k)

    async def briefly(self, search: Callable[[str, int], list[Hit]], query: str, k: int) -> list[Hit]:
        """Run a search as `asearch` does."""
        if len(self) <= _SMALL_INDEX and len(query) <= _SHORT_QUERY:
            return search(query, k)
        return await asyncio.get_running_loop().run_in_executor(_searching, search, query, k)

    def search_rows(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the row and the score of each passage that `search` finds."""
        try:
            return self.ranking.search(self.analyser.terms(query), k)
        except DAMAGE as error:  # a file has numbers that lead nowhere
            raise damaged(self.source, error) from None


def open_index(path: Path, source: str | None = None) -> Index:
    """Open the index in a folder; neither passages nor scores are read before a search needs them.

    `source` is what it is called in the passages' metadata, `bm25:PATH` when None. CorpusError where there is no index,
    or it is damaged, of another format version, or made with another analyser.
    """
    path = path.expanduser()

    def open_files() -> Index:
        analyser = load_analyser(path, read_manifest(path).analyser)
        passages = PassageFile(path)
        return Index(source or f"bm25:{path}", passages, load_ranking(path, len(passages)), analyser)

    return open_one_build(path, open_files)


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
        raise CorpusError(f"{source}: no searchable word")
    return Index(source, passages, compute_ranking(term_ids, ids), analyser)


def searchable_text(passage: StoredPassage) -> str:
    """Return what of a passage is searched: its title and its text."""
    return f"{passage.title} {passage.text}"
