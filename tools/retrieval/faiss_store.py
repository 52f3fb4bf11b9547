"""The vectors of an index, in one FAISS file that is mapped into memory.

The kind follows from the number of passages, unless it is requested:

* `flat`, up to 100,000: exact; four bytes per number. A search reads all of it.
* `hnsw`, up to 2,000,000: a graph of neighbours (M = 32); the flat size and some 270 bytes per passage.
* `ivfpq`, beyond: one byte for four numbers, in about 4·√n lists, of which a search reads a 32nd part. The
  lists and the codes are learnt from 64 passages per list.

Memory of a build: the file's content and one shard of vectors; all vectors for `flat` and `hnsw`, codes for `ivfpq`.
All compare by inner product: the cosine where vectors are normalised. With several threads (OMP_NUM_THREADS) two
builds of `hnsw` link a few neighbours differently; `flat` is the same to the byte.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.retrieval.embeddings.embedding_model import Vector
from hopgraph.tools.retrieval.shards import Shards
from hopgraph.tools.scoring.weights import require

Kind = Literal["flat", "hnsw", "ivfpq"]
KINDS: tuple[str, ...] = get_args(Kind)
FOLDER, FILE = "faiss", "faiss/vectors.faiss"
FLAT_UP_TO, HNSW_UP_TO = 100_000, 2_000_000
IVFPQ_FROM = 10_000
"""Passages that its 256 codes per part need to be learnt well."""
_HNSW_M, _HNSW_BUILD, _HNSW_SEARCH = 32, 128, 128
_NUMBERS_PER_BYTE = 4
_TRAINED_PER_LIST = 64
_LEARNT_FROM = 39
"""Passages per list below which FAISS warns."""
_SHARE_OF_LISTS = 32
_SPARE = 16

VectorProgress = Callable[[int, int], None]
"""Called with how many vectors are in, and of how many."""


def choose_kind(passages: int, asked: str | None = None) -> Kind:
    """Choose the kind of index for a number of passages, or check the requested one.

    Raises:
        SettingsError: there is no such kind, or too few passages for it.
    """
    if asked is None:
        return "flat" if passages <= FLAT_UP_TO else "hnsw" if passages <= HNSW_UP_TO else "ivfpq"
    if asked not in KINDS:
        raise SettingsError(f"FAISS index {asked!r} is unknown; use one of: {', '.join(KINDS)}")
    if asked == "ivfpq" and passages < IVFPQ_FROM:
        raise SettingsError(f"ivfpq needs {IVFPQ_FROM:,} passages to learn from, got {passages:,}; use flat or hnsw")
    return "flat" if asked == "flat" else "hnsw" if asked == "hnsw" else "ivfpq"


def build_store(folder: Path, kind: Kind, shards: Shards, report: VectorProgress) -> None:
    """Write vectors to a new file.

    Raises:
        OSError: it cannot be written.
    """
    index = _empty(kind, shards.facts.dimension, shards.count)
    if kind == "ivfpq":
        index.train(shards.sample(_TRAINED_PER_LIST * index.nlist))
    _fill(index, shards, folder, report)


def extend_store(old: Path, folder: Path, shards: Shards, report: VectorProgress) -> None:
    """Write the vectors of an old index and more after them to a new file.

    Raises:
        CorpusError: the old file is damaged. OSError: the new one cannot be written.
    """
    _fill(_read(old / FILE, 0), shards, folder, report)


def _empty(kind: Kind, dimension: int, passages: int) -> Any:
    faiss = require("faiss")
    if kind == "flat":
        return faiss.IndexFlatIP(dimension)
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimension, _HNSW_M, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = _HNSW_BUILD
        return index
    lists = 2 ** min(round(math.log2(4 * math.sqrt(passages))), int(math.log2(passages / _LEARNT_FROM)))
    parts = next(each for each in range(max(1, dimension // _NUMBERS_PER_BYTE), 0, -1) if dimension % each == 0)
    index = faiss.index_factory(dimension, f"IVF{lists},PQ{parts}", faiss.METRIC_INNER_PRODUCT)
    index.do_polysemous_training = False  # reorders the codes for a search that is not used here; takes minutes
    return index


def _fill(index: Any, shards: Shards, folder: Path, report: VectorProgress) -> None:
    done = 0
    report(done, shards.count)
    for vectors in shards:
        index.add(vectors)
        done += len(vectors)
        report(done, shards.count)
    (folder / FOLDER).mkdir()
    try:
        require("faiss").write_index(index, str(folder / FILE))
    except RuntimeError as error:
        raise OSError(" ".join(str(error).split())[-120:]) from None


def _read(path: Path, flags: int) -> Any:
    try:
        return require("faiss").read_index(str(path), flags)
    except RuntimeError as error:
        said = " ".join(str(error).split())[-160:]
        raise CorpusError(f"{path} is damaged ({said}); build the index again with `hopgraph index`") from None


class VectorStore:
    """An opened file of vectors. Any number of threads may search it at once."""

    def __init__(self, folder: Path, kind: Kind, dimension: int, passages: int) -> None:
        """Open and check the file; vectors are read when a search needs them.

        Raises:
            CorpusError: it is damaged, or of another kind, dimension or number of vectors than its manifest says.
            SpecError: FAISS is not installed.
        """
        faiss = require("faiss")
        # Lists are mapped by the one flag, codes and graphs by the other.
        self._index = _read(folder / FILE, faiss.IO_FLAG_MMAP if kind == "ivfpq" else faiss.IO_FLAG_MMAP_IFC)
        self._exact = kind == "flat"
        self._check(folder / FILE, kind, dimension, passages)
        if kind == "hnsw":
            self._index.hnsw.efSearch = _HNSW_SEARCH
        if kind == "ivfpq":
            self._index.nprobe = max(1, self._index.nlist // _SHARE_OF_LISTS)

    def _check(self, path: Path, kind: Kind, dimension: int, passages: int) -> None:
        faiss, index = require("faiss"), self._index
        classes = {"flat": faiss.IndexFlat, "hnsw": faiss.IndexHNSWFlat, "ivfpq": faiss.IndexIVFPQ}
        problem = ""
        if not isinstance(index, classes[kind]) or index.metric_type != faiss.METRIC_INNER_PRODUCT:
            problem = f"is no {kind} index by inner product"
        elif index.d != dimension:
            problem = f"has vectors of {index.d} numbers instead of {dimension}"
        elif index.ntotal != passages:
            problem = f"has {index.ntotal:,} vectors instead of {passages:,}"
        if problem:
            raise CorpusError(f"{path} {problem}; build the index again with `hopgraph index`")

    def search(self, vector: Vector, k: int, ranks: NDArray[np.int32]) -> list[tuple[int, float]]:
        """Find the rows whose vectors have the greatest inner product with one.

        Args:
            vector: of the store's dimension.
            k: how many at most.
            ranks: the place of each row in the order of the passages' ids.

        Returns:
            Rows and scores, best first, equal scores in the order of the ids; in a flat store also where the
            list ends.
        """
        total = int(self._index.ntotal)
        k = min(k, total)
        if k < 1:
            return []
        wanted = min(k + _SPARE, total)
        while True:
            found, places = self._index.search(vector[np.newaxis, :], wanted)
            scores, rows = found[0][places[0] >= 0], places[0][places[0] >= 0]
            if not self._exact or wanted == total or scores[-1] < scores[k - 1]:
                break
            wanted = min(2 * wanted, total)  # more than the spare ones are equal to the last
        order = np.lexsort((ranks[rows], -scores))[:k]
        return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))
