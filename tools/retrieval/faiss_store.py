"""The vectors of an index, in one FAISS file mapped into memory.

The kind depends on the number of passages, unless it is requested:

* `flat`, up to 100,000: exact; four bytes per number. A search reads all of it.
* `hnsw`, up to 2,000,000: a neighbor graph (M = 32); the size of `flat` plus about 270 bytes per passage.
* `ivfpq`, beyond: one byte for four numbers, in about 4·√n lists, of which a search reads 1/32. Lists and codes
  are trained on 64 passages per list.

A build holds the file's content and a few thousand vectors in memory: all vectors for `flat` and `hnsw`, codes for
`ivfpq`. All compare by inner product: the cosine if vectors are normalized. With several threads (OMP_NUM_THREADS) two
builds of `hnsw` link a few neighbors differently; those of `flat` are identical.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from hopgraph.state import SettingsError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.retrieval.embeddings.embedding_model import Matrix, Vector
from hopgraph.tools.retrieval.index_manifest import damaged

FaissKind = Literal["flat", "hnsw", "ivfpq"]
FAISS_KINDS: tuple[str, ...] = get_args(FaissKind)
FOLDER, FILE = "faiss", "faiss/vectors.faiss"
FLAT_UP_TO, HNSW_UP_TO = 100_000, 2_000_000
IVFPQ_FROM = 10_000
"""Passages needed to train the 256 codes per part."""
_HNSW_M, _HNSW_BUILD, _HNSW_SEARCH = 32, 128, 128
_NUMBERS_PER_BYTE = 4
_TRAINING_PER_LIST = 64
_MIN_TRAINING_PER_LIST = 39  # FAISS warns below
_LISTS_PER_PROBE = 32
_EXTRA_HITS = 16
_BATCH = 1 << 12


def choose_kind(passages: int, requested: str | None = None) -> FaissKind:
    """Return the kind of index for a number of passages; SettingsError if `requested` is unknown or needs more."""
    if requested is None:
        return "flat" if passages <= FLAT_UP_TO else "hnsw" if passages <= HNSW_UP_TO else "ivfpq"
    if requested not in FAISS_KINDS:
        raise SettingsError(f"FAISS index {requested!r} is unknown; use one of: {', '.join(FAISS_KINDS)}")
    if requested == "ivfpq" and passages < IVFPQ_FROM:
        raise SettingsError(f"ivfpq needs {IVFPQ_FROM:,} passages for training, got {passages:,}; use flat or hnsw")
    return cast("FaissKind", requested)


def build_store(
    folder: Path,
    kind: FaissKind,
    vectors: Matrix,
    origins: NDArray[np.int64],
    report: Callable[[int, int], object],
    *,
    extends: Path | None = None,
) -> None:
    """Write the vectors of an index to a new file.

    `origins` has each vector's row in the index `extends`, or -1 if it is the next of `vectors`. An HNSW graph is
    extended if all old rows keep their numbers, else rebuilt; IVF-PQ codes are moved.
    """
    old = _read(extends / FILE, 0) if extends else None
    index, start = _start_index(kind, vectors, origins, old)
    total, taken = len(origins), 0
    for first in range(start, total, _BATCH):
        report(first, total)
        rows = np.arange(first, min(first + _BATCH, total))
        new, kept = rows[origins[rows] < 0], rows[origins[rows] >= 0]
        added = np.empty((len(rows), index.d), dtype=np.float32)
        added[new - first] = vectors[taken : taken + len(new)]
        taken += len(new)
        if kind == "ivfpq":  # the kept codes are in place
            index.add_with_ids(added[new - first], new)
            continue
        if len(kept):
            added[kept - first] = cast("Any", old).reconstruct_batch(origins[kept])
        index.add(added)
    report(total, total)
    (folder / FOLDER).mkdir()
    try:
        require("faiss").write_index(index, str(folder / FILE))
    except RuntimeError as error:
        raise OSError(" ".join(str(error).split())[-120:]) from None


def _start_index(kind: FaissKind, vectors: Matrix, origins: NDArray[np.int64], old: Any) -> tuple[Any, int]:
    """Return the index to add vectors to, and its first missing row."""
    if old is not None and kind == "ivfpq":
        _move_codes(old, origins)
        return old, 0
    had = int(old.ntotal) if old is not None else 0
    if had and np.array_equal(origins[:had], np.arange(had)):
        return old, had
    index = _empty(kind, vectors.shape[1], len(origins))
    if kind == "ivfpq":
        sample = np.linspace(0, len(vectors) - 1, min(_TRAINING_PER_LIST * index.nlist, len(vectors)))
        index.train(vectors[sample.astype(np.int64)])
    return index, 0


def _move_codes(index: Any, origins: NDArray[np.int64]) -> None:
    """Keep only the codes of rows in `origins` in an inverted file, under their new numbers."""
    faiss, tools = require("faiss"), require("faiss.contrib.inspect_tools")
    kept = np.flatnonzero(origins >= 0)
    new_rows = np.full(index.ntotal, -1)
    new_rows[origins[kept]] = kept
    lists = [tools.get_invlist(index.invlists, each) for each in range(index.nlist)]
    index.reset()
    for number, (ids, codes) in enumerate(lists):
        is_kept = new_rows[ids] >= 0
        rows, kept_codes = np.ascontiguousarray(new_rows[ids][is_kept]), np.ascontiguousarray(codes[is_kept])
        index.invlists.add_entries(number, len(rows), faiss.swig_ptr(rows), faiss.swig_ptr(kept_codes))
    index.ntotal = len(kept)


def _empty(kind: FaissKind, dimension: int, passages: int) -> Any:
    faiss = require("faiss")
    if kind == "flat":
        return faiss.IndexFlatIP(dimension)
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimension, _HNSW_M, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = _HNSW_BUILD
        return index
    lists = 2 ** min(round(math.log2(4 * math.sqrt(passages))), int(math.log2(passages / _MIN_TRAINING_PER_LIST)))
    parts = next(each for each in range(max(1, dimension // _NUMBERS_PER_BYTE), 0, -1) if dimension % each == 0)
    index = faiss.index_factory(dimension, f"IVF{lists},PQ{parts}", faiss.METRIC_INNER_PRODUCT)
    index.do_polysemous_training = False  # takes minutes, for a kind of search not used here
    return index


def _read(path: Path, flags: int) -> Any:
    try:
        return require("faiss").read_index(str(path), flags)
    except RuntimeError as error:
        raise damaged(path, " ".join(str(error).split())[-160:]) from None


class VectorStore:
    """An opened vector file; any number of threads may search it."""

    def __init__(self, folder: Path, kind: FaissKind, dimension: int, passages: int) -> None:
        """Map the file into memory; CorpusError if it is damaged or does not match."""
        faiss, path = require("faiss"), folder / FILE
        # One flag maps lists, the other codes and graphs.
        self._index = index = _read(path, faiss.IO_FLAG_MMAP if kind == "ivfpq" else faiss.IO_FLAG_MMAP_IFC)
        self._exact = kind == "flat"
        classes = {"flat": faiss.IndexFlat, "hnsw": faiss.IndexHNSWFlat, "ivfpq": faiss.IndexIVFPQ}
        is_kind = isinstance(index, classes[kind]) and index.metric_type == faiss.METRIC_INNER_PRODUCT
        if not is_kind or (index.ntotal, index.d) != (passages, dimension):
            raise damaged(path, f"it is not a {kind} inner-product index of {passages:,} × {dimension} numbers")
        if kind == "hnsw":
            index.hnsw.efSearch = _HNSW_SEARCH
        if kind == "ivfpq":
            index.nprobe = max(1, index.nlist // _LISTS_PER_PROBE)

    def search(self, vector: Vector, k: int, ranks: NDArray[np.int32]) -> list[tuple[int, float]]:
        """Return the rows and scores of at most k vectors with the greatest inner products, best first.

        Ties are in the order of `ranks`, that of the passages' ids; in a flat store also at the cut-off.
        """
        total = int(self._index.ntotal)
        k = min(k, total)
        if k < 1:
            return []
        wanted = min(k + _EXTRA_HITS, total)
        while True:
            found, places = self._index.search(vector[np.newaxis, :], wanted)
            scores, rows = found[0][places[0] >= 0], places[0][places[0] >= 0]
            if not self._exact or wanted == total or scores[-1] < scores[k - 1]:
                break
            wanted = min(2 * wanted, total)  # all extra hits tie with the last
        order = np.lexsort((ranks[rows], -scores))[:k]
        return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))
