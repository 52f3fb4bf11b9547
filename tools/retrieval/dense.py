"""Dense retrieval with the vectors of an index, alone or fused with BM25; and embedding the passages of a build.

Embedding takes most of a build's time, so vectors are saved as they come in `.NAME.vectors-MODEL` beside the index, in
a file named after its passages. The next build of these embeds only the rest; a complete build removes the folder.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from glob import escape
from hashlib import sha256
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray
from pydantic import ValidationError

from hopgraph.state import CorpusError, SettingsError, SpecError
from hopgraph.tools.io.guarded_files import open_private
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.retrieval.embeddings.embedding_model import EmbeddingInfo, EmbeddingModel, Matrix, Vector
from hopgraph.tools.retrieval.embeddings.resolve import resolve_embeddings, untrusted_address
from hopgraph.tools.retrieval.faiss_store import IVFPQ_FROM, VectorStore, build_store, choose_kind
from hopgraph.tools.retrieval.index import RANKS, Hit, open_index, searchable_text
from hopgraph.tools.retrieval.index_manifest import DenseInfo, Manifest, map_array, read_manifest
from hopgraph.tools.retrieval.linked_index import with_links
from hopgraph.tools.retrieval.passage_retriever import BM25_WEIGHT, FusedIndex, IndexRetriever, VectorIndex
from hopgraph.tools.retrieval.passage_store import PassageFile, PassageStore
from hopgraph.tools.retrieval.staging import Progress
from hopgraph.tools.scoring.weights.model_specs import parse_spec, share_option

STEP = 256
"""Passages embedded at once; a killed build loses at most these."""
_MODEL_INFO = "model.json"


def open_dense(path: Path, model: str | Embeddings | None = None, source: str | None = None) -> VectorIndex:
    """Open the vectors of an index, mapped into memory, and load the model that embeds queries.

    `model` defaults to the index's, `source` (its name in the passages' metadata) to `faiss:PATH`. CorpusError if the
    index is missing or damaged, or has no vectors or another model's; SpecError as in `load_query_model`.
    """
    path = path.expanduser()
    manifest = read_manifest(path)
    info = manifest.dense
    if info is None:
        raise CorpusError(f"{path}: this index has no vectors; make them: hopgraph index SOURCE --out {path} --dense …")
    passages = PassageFile(path)
    ranks = map_array(path / RANKS, len(passages))
    store = VectorStore(path, info.kind, info.embedding.dimension, manifest.corpus.passages)

    def nearest(_query: str, vector: Vector, k: int) -> list[Hit]:
        return [Hit(passages[row], score, row) for row, score in store.search(vector, k, ranks)]

    return VectorIndex(source or f"faiss:{path}", load_query_model(path, info, model).aquery, nearest)


def load_query_model(path: Path, info: DenseInfo, given: str | Embeddings | None) -> EmbeddingModel:
    """Load the model that embeds queries, and check that it made the vectors of the index (CorpusError).

    SpecError if it cannot be loaded, or is at an address that only the index names.
    """
    recorded = info.embedding
    if given is None and (address := untrusted_address(recorded.model)):
        raise SpecError(
            f"{path}: uses an embedding server at {address}, which would receive your queries and key; "
            f"confirm it explicitly: faiss:{path}?model={recorded.model}"
        )
    model = resolve_embeddings(given or recorded.model)
    model.check(recorded, str(path))
    return model.with_recorded_settings(recorded, keep_query_prefix=given is not None and "query_prefix=" in model.spec)


def open_dense_retriever(spec: str) -> IndexRetriever:
    """Open `faiss:DIR` or `hybrid:DIR`, each with `?model=SPEC` to embed queries with another copy of the model.

    `hybrid:DIR?bm25_weight=0.5` sets the weight of BM25; the vectors have the rest.
    """
    is_hybrid = spec.startswith("hybrid:")
    named = parse_spec(spec, ("model", "bm25_weight") if is_hybrid else ("model",))
    source, path = f"{named.kind}:{named.name}", Path(named.name).expanduser()
    weight = share_option(named, "bm25_weight", BM25_WEIGHT)
    index = open_dense(path, named.options.get("model"), source)
    if is_hybrid:
        index = FusedIndex(source, open_index(path), index, weight)
    return IndexRetriever(index=with_links(index, path, PassageFile(path)))


@dataclass(frozen=True)
class VectorPlan:
    """How to make the vectors of an index."""

    model: EmbeddingModel | EmbeddingInfo
    """The embedding model; only its info if no passage needs embedding."""
    kind: str | None = None
    old: DenseInfo | None = None
    """Info of the vectors of the index being updated, if it has any."""

    def build(
        self, target: Path, folder: Path, origins: NDArray[np.int64], fingerprint: str, progress: Progress
    ) -> tuple[DenseInfo, int]:
        """Write the FAISS file of `folder`, which will become `target`, for passages with this fingerprint.

        `origins` has each passage's row in the old index, or -1 if it must be embedded. Returns the vectors' entry in
        the manifest, and the number of passages that an interrupted build had embedded.
        """
        passages, old = PassageFile(folder), self.old
        if old is None:
            origins = np.full(len(passages), -1)
        if isinstance(self.model, EmbeddingInfo):
            vectors, reused, embedding = np.empty((0, self.model.dimension), dtype=np.float32), 0, self.model
        else:
            rows, report = np.flatnonzero(origins < 0), partial(progress, "embed")
            vectors, reused, embedding = _embed_passages(target, self.model, passages, rows, fingerprint, report)
        info = old or DenseInfo(kind=choose_kind(len(passages), self.kind), embedding=embedding)
        build_store(folder, info.kind, vectors, origins, partial(progress, "faiss"), extends=target if old else None)
        return info, reused


def plan_vectors(
    dense: str | Embeddings | None, kind: str | None, target: Path, old: Manifest | None
) -> VectorPlan | None:
    """Load the model and check the request before anything is read; None for an index without vectors.

    `old` is the manifest of the index being updated, whose model is the default; CorpusError for another one.
    SettingsError for an unknown kind, a kind other than the index's, or a kind without a model. SpecError if the model
    cannot be loaded or FAISS is not installed.
    """
    choose_kind(IVFPQ_FROM, kind)  # raises for an unknown kind
    recorded = old.dense if old else None
    if dense is None and recorded is None:
        if kind is not None:
            raise SettingsError("a FAISS index needs an embedding model: add --dense SPEC")
        return None
    require("faiss")
    if recorded:
        if kind not in (None, recorded.kind):
            raise SettingsError(f"{target} remains {recorded.kind} when updated; rebuild it as {kind} with --replace")
        return VectorPlan(load_query_model(target, recorded, dense), recorded.kind, recorded)
    model = resolve_embeddings(dense or "")
    _ = model.info  # a server that does not answer fails now
    return VectorPlan(model, kind)


def _embed_passages(
    target: Path,
    model: EmbeddingModel,
    passages: PassageStore,
    rows: NDArray[np.int64],
    fingerprint: str,
    progress: Callable[[int, int], None],
) -> tuple[Matrix, int, EmbeddingInfo]:
    """Embed the passages in `rows`, except those that a killed build of the same passages embedded with the same model.

    The caller holds the build lock of `target`; `fingerprint` is that of all passages. `progress` is called with the
    number of embedded passages and the total. Returns the memory-mapped vectors, the number of reused ones, and the
    model's info.
    """
    folder, info = _open_vector_folder(target, model)
    total = len(rows)
    name = f"{sha256(fingerprint.encode() + rows.tobytes()).hexdigest()}.f32"
    with open_private(folder / name, "ab") as file:
        reused = min(file.tell() // (4 * info.dimension), total)
        file.truncate(reused * 4 * info.dimension)
        for start in range(reused, total, STEP):
            progress(start, total)
            texts = [searchable_text(passages[int(row)]) for row in rows[start : start + STEP]]
            file.write(model.passages(texts).tobytes())
            file.flush()
    progress(total, total)
    if not total:  # an empty file cannot be mapped
        return np.empty((0, info.dimension), dtype=np.float32), 0, info
    return np.memmap(folder / name, dtype=np.float32, mode="r", shape=(total, info.dimension)), reused, info


def _open_vector_folder(target: Path, model: EmbeddingModel) -> tuple[Path, EmbeddingInfo]:
    """Create the folder of saved vectors, or reuse that of a killed build with the same model."""
    mine = model.info
    key = sha256(mine.model_dump_json(exclude={"probe"}).encode()).hexdigest()[:12]
    folder = target.parent / f"{_kept_prefix(target)}{key}"
    try:
        kept = EmbeddingInfo.model_validate_json((folder / _MODEL_INFO).read_bytes())
        model.check(kept, str(folder))
    except (FileNotFoundError, ValidationError, CorpusError):  # missing, incomplete, or of other weights with this name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / _MODEL_INFO).write_text(mine.model_dump_json() + "\n", encoding="utf-8")
        return folder, mine
    return folder, kept


def find_kept_vectors(target: Path) -> list[Path]:
    """Return the folders of vectors that interrupted builds of this index have left."""
    return [path for path in target.parent.glob(f"{escape(_kept_prefix(target))}*") if path.is_dir()]


def _kept_prefix(target: Path) -> str:
    return f".{target.name}.vectors-"
