"""A BM25 index of passages (by bm25s), on disk or in memory; the order of hits is deterministic."""

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
from hopgraph.tools.retrieval.index_manifest import DAMAGE, K1, B, damaged, load_analyzer, map_array, read_manifest
from hopgraph.tools.retrieval.passage_store import PassageFile, PassageStore, StoredPassage
from hopgraph.tools.text import DEFAULT_ANALYZER, Analyzer

# bm25s has no type stubs. It is not imported on first use, since that is slow if numba or scipy are installed.
bm25s: Any = import_module("bm25s")

FOLDER, RANKS = "bm25", "ranks.npy"
_STOP_WORD = -1
_ROWS = 1 << 14  # passages processed at once
_SMALL_INDEX, _SHORT_QUERY = 20_000, 2_000
"""Maximum passages and characters for which a search takes less time than handing it to a thread."""
_searching = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hopgraph-bm25")
"""One thread per core: more are not faster, and each that waits for the GIL delays the event loop."""


class _TermNumbers(dict[str, int]):
    """Word → id of its term; each word is stemmed once."""

    def __init__(self, analyzer: Analyzer, vocab: dict[str, int]) -> None:
        super().__init__()
        self._analyzer, self._vocab = analyzer, vocab

    def __missing__(self, word: str) -> int:
        term = self._analyzer.term(word)
        number = self[word] = _STOP_WORD if term is None else self._vocab.setdefault(term, len(self._vocab))
        return number


class TermIds:
    """The term ids of all passages, in order, four bytes per occurrence."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.vocab: dict[str, int] = {}
        """Term → id, from 0, in the order of first occurrence."""
        self._analyzer = analyzer
        self.languages: dict[str, _TermNumbers] = {}
        """Language of passages → ids of its words."""
        self._numbers, self._ends = array("i"), array("q", [0])

    def add(self, text: str, language: str = "") -> None:
        """Append a passage, which may have no terms; `language` is empty if unknown."""
        analyzer = self._analyzer.choose(language)
        number_of = self.languages.setdefault(analyzer.language, _TermNumbers(analyzer, self.vocab))
        self._numbers.extend([number for word in analyzer.words(text) if (number := number_of[word]) != _STOP_WORD])
        self._ends.append(len(self._numbers))

    def token_ids(self) -> NDArray[np.int32]:
        """Return the term ids of all passages, concatenated, without a copy."""
        return np.frombuffer(self._numbers, dtype=np.int32)

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of terms of each passage."""
        return np.diff(np.frombuffer(self._ends, dtype=np.int64))


class Bm25Scores:
    """The BM25 scores of a corpus, and the order of its passages by id."""

    def __init__(self, scorer: Any, ranks: NDArray[np.int32]) -> None:
        self._scorer = scorer
        self.ranks = ranks
        """Each passage's rank by id, which breaks ties."""
        self._number_of: dict[str, int] = scorer.vocab_dict

    def search(self, terms: Sequence[str], k: int) -> list[tuple[int, float]]:
        """Return at most k rows and scores, best first, ties by id; each repetition of a term counts."""
        numbers = [self._number_of[term] for term in terms if term in self._number_of]
        if not numbers or k < 1:
            return []
        scores: NDArray[np.float32] = self._scorer.get_scores_from_ids(numbers)
        # The k best scores above 0, and all ties with the last of them: many times faster than bm25s's argpartition
        # if most scores are 0.
        last = np.partition(scores, -k)[-k] if k < len(scores) else 0
        rows = np.flatnonzero(scores >= last) if last > 0 else np.flatnonzero(scores)
        found = scores[rows]
        order = np.lexsort((self.ranks[rows], -found))[:k]
        return list(zip(rows[order].tolist(), found[order].tolist(), strict=True))

    def save(self, folder: Path) -> None:
        """Write bm25s's files and the ranks."""
        self._scorer.save(folder / FOLDER, show_progress=False)
        np.save(folder / RANKS, self.ranks, allow_pickle=False)


def compute_bm25(term_ids: TermIds, ids: Sequence[str]) -> Bm25Scores:
    """Compute the scores of a corpus with at least one term; `ids` are those of its passages.

    Bit for bit the same as `bm25s.BM25.index` computes passage by passage; a test compares the two.
    """
    lengths, doc_freqs = term_ids.lengths(), np.zeros(len(term_ids.vocab), dtype=np.int64)
    for _, terms, counts, _ in _postings(term_ids):
        doc_freqs[terms] += counts
    ends = np.concatenate(([0], np.cumsum(doc_freqs)))
    scores, rows = np.empty(ends[-1], dtype=np.float32), np.empty(ends[-1], dtype=np.int32)
    norms = K1 * ((1 - B) + B * lengths / lengths.mean())
    distinct, inverse = np.unique(doc_freqs, return_inverse=True)
    weights = [math.log(1 + (len(ids) - n + 0.5) / (n + 0.5)) for n in distinct.tolist()]  # Lucene's, never negative
    idf, next_slots = np.array(weights, dtype=np.float32)[inverse], ends[:-1].copy()
    for found, terms, counts, frequencies in _postings(term_ids):
        # A term's postings follow those of earlier batches.
        slots = np.arange(len(found)) + np.repeat(next_slots[terms] - (np.cumsum(counts) - counts), counts)
        next_slots[terms] += counts
        tf = frequencies.astype(np.float32)
        scores[slots] = np.repeat(idf[terms], counts) * (tf / (norms[found] + tf))
        rows[slots] = found
    scorer = bm25s.BM25(k1=K1, b=B, method="lucene")
    scorer.scores = {"data": scores, "indices": rows, "indptr": ends, "num_docs": len(ids)}
    scorer.vocab_dict = term_ids.vocab
    scorer.nonoccurrence_array = None
    ranks = np.empty(len(ids), dtype=np.int32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    return Bm25Scores(scorer, ranks)


def _postings(term_ids: TermIds) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Yield the postings of some passages at a time, by term and then by row.

    These are the rows, the distinct terms, the number of rows of each term, and the term frequency of each posting.
    """
    numbers, lengths = term_ids.token_ids(), term_ids.lengths()
    ends = np.cumsum(lengths)
    for first in range(0, len(lengths), _ROWS):
        some = slice(first, first + _ROWS)
        keys = numbers[ends[first] - lengths[first] : ends[some][-1]].astype(np.int64) << 32
        keys |= np.repeat(np.arange(first, first + len(lengths[some])), lengths[some])
        keys, frequencies = np.unique(keys, return_counts=True)
        terms, counts = np.unique(keys >> 32, return_counts=True)
        yield keys & 0xFFFFFFFF, terms, counts, frequencies


def load_bm25(folder: Path, passages: int) -> Bm25Scores:
    """Map the files of `Bm25Scores.save` into memory, reading only the vocabulary; CorpusError if damaged."""
    try:
        scorer = bm25s.BM25.load(folder / FOLDER, mmap=True, show_progress=False)
        # Plain views of the mapped files: slices of numpy's memmap class, one per term, are slower.
        arrays = {name: np.asarray(scorer.scores[name]) for name in ("data", "indices", "indptr")}
        scorer.scores.update(arrays)
        if scorer.scores["num_docs"] != passages:
            raise ValueError(f"it has scores of {scorer.scores['num_docs']} passages instead of {passages}")
    except DAMAGE as error:
        raise damaged(folder / FOLDER, error) from None
    return Bm25Scores(scorer, map_array(folder / RANKS, passages))


class Hit(NamedTuple):
    """A passage found by a search."""

    passage: StoredPassage
    score: float
    """Not comparable between queries or indexes; positive for BM25."""
    row: int | None = None
    """Its row in an index on disk or in memory."""
    linked_from: str = ""
    """The title of the passage whose link led here."""


@dataclass(frozen=True, eq=False)
class Index:
    """A searchable corpus; any number of threads may search it."""

    source: str
    """Its name in the passages' metadata, e.g. `bm25:DIR` or `sample`."""
    passages: PassageStore
    bm25: Bm25Scores
    analyzer: Analyzer = DEFAULT_ANALYZER

    def __len__(self) -> int:
        return len(self.passages)

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most k passages that share terms with the query, best first, ties by id."""
        return [Hit(self.passages[row], score, row) for row, score in self.search_rows(query, k)]

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Search, in a thread unless that would take longer than the search."""
        return await self.run_search(self.search, query, k)

    async def run_search(self, search: Callable[[str, int], list[Hit]], query: str, k: int) -> list[Hit]:
        """Run `search` as `asearch` does."""
        if len(self) <= _SMALL_INDEX and len(query) <= _SHORT_QUERY:
            return search(query, k)
        return await asyncio.get_running_loop().run_in_executor(_searching, search, query, k)

    def search_rows(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the rows and scores of the passages that `search` finds."""
        try:
            return self.bm25.search(self.analyzer.terms(query), k)
        except DAMAGE as error:  # a damaged file has numbers out of range
            raise damaged(self.source, error) from None


def open_index(path: Path, source: str | None = None) -> Index:
    """Open the index in a folder; passages and scores are read on demand.

    `source` is its name in the passages' metadata, `bm25:PATH` by default. CorpusError if there is no index, or it is
    damaged, of another format version, or made with another analyzer.
    """
    path = path.expanduser()

    def open_files() -> Index:
        analyzer = load_analyzer(path, read_manifest(path).analyzer)
        passages = PassageFile(path)
        return Index(source or f"bm25:{path}", passages, load_bm25(path, len(passages)), analyzer)

    return open_one_build(path, open_files)


def index_in_memory(records: Iterable[SourceRecord], source: str, analyzer: Analyzer = DEFAULT_ANALYZER) -> Index:
    """Index a small corpus in memory; CorpusError if an id occurs twice or no passage has a term."""
    passages = [StoredPassage(record.id, record.title, record.text, record.metadata) for record in records]
    ids = [passage.id for passage in passages]
    if len(set(ids)) != len(ids):
        raise CorpusError(f"{source}: an id occurs twice")
    term_ids = TermIds(analyzer)
    for passage in passages:
        term_ids.add(searchable_text(passage))
    if not term_ids.vocab:
        raise CorpusError(f"{source}: no searchable word")
    return Index(source, passages, compute_bm25(term_ids, ids), analyzer)


def searchable_text(passage: StoredPassage) -> str:
    """Return the text of a passage that is searched: its title and its text."""
    return f"{passage.title} {passage.text}"
