"""Dense retrieval: the passages of an index by their vectors, alone or together with BM25; and how these are made.

Embedding is by far the longest part of a build, so its result is stored as it comes in `.NAME.vectors-MODEL` beside the
index, in a file named by its passages. The next build of these embeds only the rest. A complete build removes it.
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
from hopgraph.tools.retrieval.index_manifest import DenseFacts, Manifest, map_array, read_manifest
from hopgraph.tools.retrieval.linked_index import with_links
from hopgraph.tools.retrieval.passage_retriever import BM25_WEIGHT, FusedIndex, IndexRetriever, VectorIndex
from hopgraph.tools.retrieval.passage_store import PassageFile, PassageStore
from hopgraph.tools.retrieval.staging import Progress
from hopgraph.tools.scoring.weights.model_specs import read_spec, share_option

STEP = 256
"""Passages that are embedded at once: what a killed build loses at most."""
_MODEL_FACTS = "model.json"


def open_dense(path: Path, model: str | Embeddings | None = None, source: str | None = None) -> VectorIndex:
    """Open the vectors of the index in a folder, mapped into memory, and load the model that embeds queries.

    Without a `model` it is the one that the index names; without a `source` the passages' is `faiss:PATH`. CorpusError
    for no index, one without vectors, a damaged one, or one that another model made; SpecError as `load_query_model`.
    """
    path = path.expanduser()
    manifest = read_manifest(path)
    facts = manifest.dense
    if facts is None:
        raise CorpusError(f"{path}: this index has no vectors; make them: hopgraph index SOURCE --out {path} --dense …")
    passages = PassageFile(path)
    ranks = map_array(path / RANKS, len(passages))
    store = VectorStore(path, facts.kind, facts.embedding.dimension, manifest.corpus.passages)

    def nearest(_query: str, vector: Vector, k: int) -> list[Hit]:
        return [Hit(passages[row], score, row) for row, score in store.search(vector, k, ranks)]

    return VectorIndex(source or f"faiss:{path}", load_query_model(path, facts, model).aquery, nearest)


def load_query_model(path: Path, facts: DenseFacts, given: str | Embeddings | None) -> EmbeddingModel:
    """Load the model of an index and make sure that it is the one that made the vectors (CorpusError).

    SpecError where it cannot be loaded, or is behind an address that only the index names.
    """
    recorded = facts.embedding
    if given is None and (address := untrusted_address(recorded.model)):
        raise SpecError(
            f"{path}: uses an embedding server at {address}, which would receive your queries and key; "
            f"confirm it explicitly: faiss:{path}?model={recorded.model}"
        )
    model = resolve_embeddings(given or recorded.model)
    model.check(recorded, str(path))
    return model.with_recorded_settings(recorded, keep_query_prefix=given is not None and "query_prefix=" in model.spec)


def open_dense_retriever(spec: str) -> IndexRetriever:
    """Open `faiss:DIR` or `hybrid:DIR`, each with `?model=SPEC` to embed queries by another copy of the model.

    `hybrid:DIR?bm25_weight=0.5` weighs BM25 against the vectors.
    """
    is_hybrid = spec.startswith("hybrid:")
    named = read_spec(spec, ("model", "bm25_weight") if is_hybrid else ("model",))
    source, path = f"{named.kind}:{named.name}", Path(named.name).expanduser()
    weight = share_option(named, "bm25_weight", BM25_WEIGHT)
    index = open_dense(path, named.options.get("model"), source)
    if is_hybrid:
        index = FusedIndex(source, open_index(path), index, weight)
    return IndexRetriever(index=with_links(index, path, PassageFile(path)))


@dataclass(frozen=True)
class VectorPlan:
    """How the vectors of an index will be made."""

    model: EmbeddingModel | EmbeddingInfo
    """The embedding model; only its facts if every passage keeps its vector."""
    kind: str | None = None
    old: DenseFacts | None = None
    """Of the index that is updated, if it has vectors."""

    def build(
        self, goal: Path, folder: Path, origins: NDArray[np.int64], fingerprint: str, progress: Progress
    ) -> tuple[DenseFacts, int]:
        """Write the FAISS file of `folder`, which will become `goal`, for passages of this fingerprint.

        `origins` has for each passage the row whose vector it takes from the old index, -1 for one to be embedded.
        Returns what the manifest says of the vectors, and how many an interrupted build had embedded.
        """
        passages, have = PassageFile(folder), self.old
        if have is None:
            origins = np.full(len(passages), -1)
        if isinstance(self.model, EmbeddingInfo):
            vectors, reused, embedding = np.empty((0, self.model.dimension), dtype=np.float32), 0, self.model
        else:
            rows, report = np.flatnonzero(origins < 0), partial(progress, "embed")
            vectors, reused, embedding = _embed_passages(goal, self.model, passages, rows, fingerprint, report)
        facts = have or DenseFacts(kind=choose_kind(len(passages), self.kind), embedding=embedding)
        build_store(folder, facts.kind, vectors, origins, partial(progress, "faiss"), extends=goal if have else None)
        return facts, reused


def plan_vectors(
    dense: str | Embeddings | None, kind: str | None, goal: Path, old: Manifest | None
) -> VectorPlan | None:
    """Load the model and check the request, before anything is read; None for an index without vectors.

    `old` is the manifest of the index that is updated: without `dense` its model is used, if it has one; CorpusError
    for another one. SettingsError for an unknown kind, another one than the index has, or a kind without a model.
    SpecError where the model cannot be loaded, or FAISS is not installed.
    """
    choose_kind(IVFPQ_FROM, kind)  # refuses an unknown one
    have = old.dense if old else None
    if dense is None and have is None:
        if kind is not None:
            raise SettingsError("a FAISS index needs an embedding model: add --dense SPEC")
        return None
    require("faiss")
    if old and have:
        if kind not in (None, have.kind):
            raise SettingsError(f"{goal} remains {have.kind} when updated; rebuild it as {kind} with --replace")
        return VectorPlan(load_query_model(goal, have, dense), have.kind, have)
    model = resolve_embeddings(dense or "")
    _ = model.facts  # a server that does not answer fails now
    return VectorPlan(model, kind)


def _embed_passages(
    goal: Path,
    model: EmbeddingModel,
    passages: PassageStore,
    rows: NDArray[np.int64],
    fingerprint: str,
    progress: Callable[[int, int], None],
) -> tuple[Matrix, int, EmbeddingInfo]:
    """Embed the passages of some rows, except those that a killed build embedded of the same ones with the same model.

    The builder of the index `goal` holds its lock. `fingerprint` is that of all passages. `progress` is called with how
    many are embedded, and of how many; first with how many are taken over, unless it is all of them. Returns the
    vectors, mapped into memory; how many of them were there already; and the facts of the model.
    """
    folder, facts = _keep_vectors(goal, model)
    total = len(rows)
    name = f"{sha256(fingerprint.encode() + rows.tobytes()).hexdigest()}.f32"
    with open_private(folder / name, "ab") as file:
        reused = min(file.tell() // (4 * facts.dimension), total)
        file.truncate(reused * 4 * facts.dimension)
        for start in range(reused, total, STEP):
            progress(start, total)
            texts = [searchable_text(passages[int(row)]) for row in rows[start : start + STEP]]
            file.write(model.passages(texts).tobytes())
            file.flush()
    progress(total, total)
    if not total:  # nothing that could be mapped
        return np.empty((0, facts.dimension), dtype=np.float32), 0, facts
    return np.memmap(folder / name, dtype=np.float32, mode="r", shape=(total, facts.dimension)), reused, facts


def _keep_vectors(goal: Path, model: EmbeddingModel) -> tuple[Path, EmbeddingInfo]:
    """Make the folder, or reuse that of a killed build if the model is still the same."""
    mine = model.facts
    key = sha256(mine.model_dump_json(exclude={"probe"}).encode()).hexdigest()[:12]
    folder = goal.parent / f"{_kept_prefix(goal)}{key}"
    try:
        kept = EmbeddingInfo.model_validate_json((folder / _MODEL_FACTS).read_bytes())
        model.check(kept, str(folder))
    except (FileNotFoundError, ValidationError, CorpusError):  # none, a partial one, or other weights under this name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / _MODEL_FACTS).write_text(mine.model_dump_json() + "\n", encoding="utf-8")
        return folder, mine
    return folder, kept


def find_kept_vectors(goal: Path) -> list[Path]:
    """List the folders with vectors that builds of this index have left behind."""
    return [path for path in goal.parent.glob(f"{escape(_kept_prefix(goal))}*") if path.is_dir()]


def _kept_prefix(goal: Path) -> str:
    return f".{goal.name}.vectors-"
