"""BM25 over term numbers, by bm25s, with an order that does not depend on chance."""

import math
from array import array
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopgraph.tools.retrieval.index_manifest import DAMAGE, damaged, map_array
from hopgraph.tools.text import Analyser

# bm25s has no type stubs. It is imported with this module, not on the first use, as that is slow when it
# finds numba or scipy beside it, neither of which is needed.
bm25s: Any = import_module("bm25s")

FOLDER, RANKS = "bm25", "ranks.npy"
_STOP = -1
_ROWS = 1 << 14
"""Passages that are looked at together."""
K1, B, METHOD = 0.9, 0.4, "lucene"


class TermIds:
    """The terms of every passage as numbers, four bytes for each occurrence, in the order of the passages."""

    def __init__(self, analyser: Analyser) -> None:
        self.vocab: dict[str, int] = {}
        """Term → number, from 0, in the order in which the terms were met."""
        self._analyser = analyser
        self._number_of: dict[str, int] = {}
        """Word → number of its term; a word is stemmed once, when it is met first."""
        self._numbers, self._ends = array("i"), array("q", [0])

    def add(self, text: str) -> None:
        """Append a passage; it may have no terms."""
        words = self._analyser.words(text)
        known = self._number_of
        try:
            self._numbers.extend([number for word in words if (number := known[word]) != _STOP])
        except KeyError:
            numbers = [known[word] if word in known else self._learn(word) for word in words]
            self._numbers.extend([number for number in numbers if number != _STOP])
        self._ends.append(len(self._numbers))

    def _learn(self, word: str) -> int:
        term = self._analyser.term(word)
        number = _STOP if term is None else self.vocab.setdefault(term, len(self.vocab))
        self._number_of[word] = number
        return number

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
        """Rank the passages with any of the terms; a repeated term counts each time.

        Returns:
            At most k pairs of row and score, best first; equal scores by id, also where the list ends.
        """
        numbers = [self._number_of[term] for term in terms if term in self._number_of]
        if not numbers or k < 1:
            return []
        scores: NDArray[np.float32] = self._scorer.get_scores_from_ids(numbers)
        rows = _at_least_best(scores, k)
        found = scores[rows]
        order = np.lexsort((self.ranks[rows], -found))[:k]
        return list(zip(rows[order].tolist(), found[order].tolist(), strict=True))

    def save(self, folder: Path) -> None:
        """Write bm25s's own files and the ranks."""
        self._scorer.save(folder / FOLDER, show_progress=False)
        np.save(folder / RANKS, self.ranks, allow_pickle=False)


def compute_ranking(term_ids: TermIds, ids: Sequence[str]) -> Ranking:
    """Compute the scores of a corpus with at least one term; `ids` are those of its passages.

    The same numbers as `bm25s.BM25.index` computes passage by passage, to the last bit, in a few steps over
    whole arrays; a test compares the two.
    """
    lengths, passages_with = term_ids.lengths(), np.zeros(len(term_ids.vocab), dtype=np.int64)
    for _, terms, often, _ in _occurrences(term_ids):
        passages_with[terms] += often
    ends = np.concatenate(([0], np.cumsum(passages_with)))
    scores, rows = np.empty(ends[-1], dtype=np.float32), np.empty(ends[-1], dtype=np.int32)
    norms = K1 * ((1 - B) + B * lengths / lengths.mean())
    idf, free = _idf(passages_with, len(ids)), ends[:-1].copy()
    for found, terms, often, counts in _occurrences(term_ids):
        # The passages of a term come after those that earlier rounds found.
        places = np.arange(len(found)) + np.repeat(free[terms] - (np.cumsum(often) - often), often)
        free[terms] += often
        tf = counts.astype(np.float32)
        scores[places] = np.repeat(idf[terms], often) * (tf / (norms[found] + tf))
        rows[places] = found
    scorer = bm25s.BM25(k1=K1, b=B, method=METHOD)
    scorer.scores = {"data": scores, "indices": rows, "indptr": ends, "num_docs": len(ids)}
    scorer.vocab_dict = term_ids.vocab
    scorer.nonoccurrence_array = None
    return Ranking(scorer, _ranks(ids))


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


def _idf(passages_with: NDArray[np.int64], passages: int) -> NDArray[np.float32]:
    """Weigh each term; Lucene's variant is never negative."""
    distinct, place = np.unique(passages_with, return_inverse=True)
    weights = [math.log(1 + (passages - n + 0.5) / (n + 0.5)) for n in distinct.tolist()]
    return np.array(weights, dtype=np.float32)[place]


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


def _at_least_best(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Find the rows of the k best scores above 0, with all that equal the last of them, in any order."""
    # Many times faster than the argpartition of bm25s where most scores are 0, and it shows all ties.
    last = np.partition(scores, -k)[-k] if k < len(scores) else 0
    return np.flatnonzero(scores >= last) if last > 0 else np.flatnonzero(scores)


def _ranks(ids: Sequence[str]) -> NDArray[np.int32]:
    ranks = np.empty(len(ids), dtype=np.int32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    return ranks
