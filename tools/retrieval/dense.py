"""Dense retrieval: the passages of an index by their vectors, alone or together with BM25."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.io.background import in_search_thread
from hopgraph.tools.retrieval.bm25_retriever import search_in_pool
from hopgraph.tools.retrieval.embeddings import EmbeddingModel, resolve_embeddings
from hopgraph.tools.retrieval.embeddings.remote import untrusted_address
from hopgraph.tools.retrieval.faiss_store import VectorStore
from hopgraph.tools.retrieval.fusion import DEPTH, fuse_rankings
from hopgraph.tools.retrieval.index import Hit, Index, open_index
from hopgraph.tools.retrieval.index_manifest import DenseFacts, damaged, read_manifest
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever
from hopgraph.tools.retrieval.passage_store import PassageFile, PassageStore
from hopgraph.tools.retrieval.ranking import load_ranks
from hopgraph.tools.retrieval.spec_options import split_options
from hopgraph.tools.retrieval.staging import recover_stages


@dataclass(frozen=True)
class DenseIndex:
    """Passages and their vectors. Any number of threads may search it at once."""

    source: str
    passages: PassageStore
    store: VectorStore
    model: EmbeddingModel
    ranks: NDArray[np.int32]

    async def search(self, query: str, k: int) -> list[Hit]:
        """Find the passages whose vectors are nearest to the query's; concurrent queries are embedded together.

        Returns:
            At most k hits, best first, equal scores by id; empty for a blank query.

        Raises:
            CorpusError: the model's vectors have another dimension than the index.
        """
        if not query.strip() or k < 1:
            return []
        rows = await in_search_thread(self.store.search, await self.model.aquery(query), k, self.ranks)
        return [Hit(self.passages[row], score) for row, score in rows]


@dataclass(frozen=True)
class HybridIndex:
    """BM25 and vectors, searched concurrently and merged by reciprocal rank fusion."""

    source: str
    bm25: Index
    dense: DenseIndex

    async def search(self, query: str, k: int) -> list[Hit]:
        """Find the best of the fused ranking."""
        depth = max(k, DEPTH)
        found = await asyncio.gather(search_in_pool(self.bm25, query, depth), self.dense.search(query, depth))
        return fuse_rankings(found, k)


def open_dense(path: Path, model: str | Embeddings | None = None, source: str | None = None) -> DenseIndex:
    """Open the vectors of an index, mapped into memory, and load the model that embeds queries.

    Args:
        path: the index's folder.
        model: embeds the queries; None for the model that the index names.
        source: what to call it; `faiss:PATH` when None.

    Raises:
        CorpusError: no index, one without vectors, a damaged one, or one that another model made.
        SpecError: the model cannot be loaded.
    """
    path = path.expanduser()
    if not path.exists():
        recover_stages(path.absolute())
    manifest = read_manifest(path)
    facts = manifest.dense
    if facts is None:
        raise CorpusError(f"{path}: this index has no vectors; make them: hopgraph index SOURCE --out {path} --dense …")
    try:
        passages, ranks = PassageFile(path), load_ranks(path)
    except (OSError, ValueError) as error:
        raise damaged(path, error) from None
    store = VectorStore(path, facts.kind, facts.embedding.dimension, manifest.corpus.passages)
    return DenseIndex(source or f"faiss:{path}", passages, store, load_query_model(path, facts, model), ranks)


def load_query_model(path: Path, facts: DenseFacts, given: str | Embeddings | None) -> EmbeddingModel:
    """Load the model of an index and make sure that it is the one that made the vectors.

    Raises:
        CorpusError: another model. SpecError: it cannot be loaded, or is behind an address that only the index names.
    """
    recorded = facts.embedding
    if given is None and (address := untrusted_address(recorded.model)):
        raise SpecError(
            f"{path}: its model is served at {address}, and an index alone does not decide who gets your queries and "
            f"key; name it: faiss:{path}?model={recorded.model}"
        )
    model = resolve_embeddings(given or recorded.model)
    model.check(recorded, str(path))
    return model.with_recorded_settings(recorded, keep_query_prefix=given is not None and "query_prefix=" in model.spec)


def open_dense_retriever(spec: str) -> IndexRetriever:
    """Open `faiss:DIR` or `hybrid:DIR`, each with `?model=SPEC` to embed queries by another copy of the model.

    Raises:
        SpecError: no folder, or an unknown option. CorpusError: as `open_dense` raises it.
    """
    source, options = split_options(spec, ("model",))
    kind, _, place = source.partition(":")
    if not place:
        raise SpecError(f"retriever {spec!r}: the folder's name is missing; write {kind}:DIR or {kind}:DIR?model=SPEC")
    path = Path(place).expanduser()
    dense = open_dense(path, options.get("model"), source)
    return IndexRetriever(index=dense if kind == "faiss" else HybridIndex(source, open_index(path, source), dense))
