"""A collection in a search engine as a LangChain retriever."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from langchain_core.embeddings import Embeddings

from hopgraph.state import CorpusError
from hopgraph.tools.io.background import in_search_thread
from hopgraph.tools.retrieval.embeddings import EmbeddingModel, resolve_embeddings
from hopgraph.tools.retrieval.engines.address import EngineAddress, Mode, parse_address
from hopgraph.tools.retrieval.engines.elasticsearch import ElasticsearchEngine
from hopgraph.tools.retrieval.engines.engine import REMEDY, SearchEngine
from hopgraph.tools.retrieval.engines.milvus import MilvusEngine
from hopgraph.tools.retrieval.fusion import DEPTH, fuse_rankings
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.index_manifest import load_analyser
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever
from hopgraph.tools.text import Analyser


@dataclass(frozen=True)
class EngineIndex:
    """A filled collection, searched by terms, by vectors, or by both."""

    engine: SearchEngine
    analyser: Analyser
    mode: Mode
    model: EmbeddingModel | None
    """The one that the engine's vectors were made with; None where the mode is bm25."""

    @property
    def source(self) -> str:
        """The engine's address."""
        return str(self.engine.address)

    async def search(self, query: str, k: int) -> list[Hit]:
        """Find passages best first, equal scores by id; none for a blank query."""
        if not query.strip() or k < 1:
            return []
        depth = max(k, DEPTH) if self.mode == "hybrid" else k
        searches: list[Awaitable[list[Hit]]] = []
        if self.mode != "dense":
            searches.append(in_search_thread(self._search_terms, query, depth))
        if self.model:
            searches.append(self._search_vector(self.model, query, depth))
        rankings = await asyncio.gather(*searches)
        return fuse_rankings(rankings, k) if self.mode == "hybrid" else rankings[0]

    def _search_terms(self, query: str, k: int) -> list[Hit]:
        terms = self.analyser.terms(query)
        return self.engine.search_terms(terms, k) if terms else []

    async def _search_vector(self, model: EmbeddingModel, query: str, k: int) -> list[Hit]:
        return await in_search_thread(self.engine.search_vector, (await model.aquery(query)).tolist(), k)


def connect(address: EngineAddress) -> SearchEngine:
    """Connect to the engine at an address."""
    return MilvusEngine(address) if address.kind == "milvus" else ElasticsearchEngine(address)


def resolve_engine(spec: str, embeddings: str | Embeddings | None = None) -> IndexRetriever:
    """Open the retriever over a collection that `index_into` filled; connects, so it belongs in a thread.

    Args:
        spec: as VALID_ENGINE_SPECS says.
        embeddings: the model that the collection's vectors were made with, or its spec; None for the spec that
            is stored with the collection.

    Raises:
        SpecError: not a valid spec, a package is missing, or the model cannot be opened.
        CorpusError: the engine cannot be reached, or its collection is missing, empty, unfinished, not ours, or
            without what the mode needs.
    """
    address = parse_address(spec)
    engine = connect(address)
    facts = engine.load_facts()
    if facts is None:
        raise CorpusError(f"{address}: no such collection; fill it: hopgraph index SOURCE --to {address}")
    if not facts.corpora:
        raise CorpusError(f"{address}: its filling was not finished; run the same `hopgraph index` again")
    mode = address.mode or ("hybrid" if facts.embedding else "bm25")
    model = None
    if mode != "bm25":
        if facts.embedding is None:
            raise CorpusError(f"{address}: has no vectors (filled without --dense); search it with ?mode=bm25")
        model = resolve_embeddings(embeddings or facts.embedding.model)
        model.check(facts.embedding, str(address))
        model = model.with_recorded_settings(facts.embedding)
    analyser = load_analyser(str(address), facts.analyser, REMEDY)
    return IndexRetriever(index=EngineIndex(engine, analyser, mode, model))
