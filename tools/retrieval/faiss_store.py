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
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from hopgraph.state import SettingsError
from hopgraph.tools.retrieval.embeddings.embedding_model import Vector
from hopgraph.tools.retrieval.index_manifest import damaged
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
    return cast("Kind", asked)


def build_store(
    folder: Path, kind: Kind, shards: Shards, report: Callable[[int, int], object], *, extends: Path | None = None
) -> None:
    """Write vectors to a new file, after those of the index `extends`, if there is one."""
    if extends:
        index = _read(extends / FILE, 0)
    else:
        index = _empty(kind, shards.facts.dimension, shards.count)
        if kind == "ivfpq":
            index.train(shards.sample(_TRAINED_PER_LIST * index.nlist))
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


def _read(path: Path, flags: int) -> Any:
    try:
        return require("faiss").read_index(str(path), flags)
    except RuntimeError as error:
        raise damaged(path, " ".join(str(error).split())[-160:]) from None


class VectorStore:
    """An opened file of vectors. Any number of threads may search it at once."""

    def __init__(self, folder: Path, kind: Kind, dimension: int, passages: int) -> None:
        """Open the file and compare it with its manifest; vectors are read when a search needs them.

        Raises:
            CorpusError: it is damaged, or another one. SpecError: FAISS is not installed.
        """
        faiss, path = require("faiss"), folder / FILE
        # Lists are mapped by the one flag, codes and graphs by the other.
        self._index = index = _read(path, faiss.IO_FLAG_MMAP if kind == "ivfpq" else faiss.IO_FLAG_MMAP_IFC)
        self._exact = kind == "flat"
        classes = {"flat": faiss.IndexFlat, "hnsw": faiss.IndexHNSWFlat, "ivfpq": faiss.IndexIVFPQ}
        if not isinstance(index, classes[kind]) or index.metric_type != faiss.METRIC_INNER_PRODUCT:
            raise damaged(path, f"it is no {kind} index by inner product")
        if index.d != dimension:
            raise damaged(path, f"it has vectors of {index.d} numbers instead of {dimension}")
        if index.ntotal != passages:
            raise damaged(path, f"it has {index.ntotal:,} vectors instead of {passages:,}")
        if kind == "hnsw":
            index.hnsw.efSearch = _HNSW_SEARCH
        if kind == "ivfpq":
            index.nprobe = max(1, index.nlist // _SHARE_OF_LISTS)

    def search(self, vector: Vector, k: int, ranks: NDArray[np.int32]) -> list[tuple[int, float]]:
        """Find at most k rows whose vectors have the greatest inner product with one; `ranks` order the passages' ids.

        Returns:
            Rows and scores, best first, equal scores in the order of the ids; in a flat store also where the list ends.
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
