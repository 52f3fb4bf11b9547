"""A search engine as a LangChain retriever."""

import asyncio
from collections.abc import Awaitable

from langchain_core.documents import Document
from pydantic import SkipValidation

from hopgraph.state import CorpusError
from hopgraph.tools.io.background import in_search_thread
from hopgraph.tools.retrieval.embeddings import EmbeddingModel
from hopgraph.tools.retrieval.engines.address import Mode
from hopgraph.tools.retrieval.engines.engine import SearchEngine
from hopgraph.tools.retrieval.fusion import DEPTH, fuse_rankings
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_retriever import PassageRetriever, to_documents
from hopgraph.tools.text import Analyser


class EngineRetriever(PassageRetriever):
    """Finds passages in an engine by terms, by vectors, or by both."""

    engine: SkipValidation[SearchEngine]
    analyser: Analyser
    mode: Mode = "bm25"
    embeddings: SkipValidation[EmbeddingModel] | None = None
    """The model that the engine's vectors were made with; needed unless the mode is bm25."""

    async def find(self, query: str, k: int) -> list[Document]:
        """Return passages best first, equal scores by id."""
        if self.mode != "bm25" and self.embeddings is None:
            raise CorpusError(f"{self.engine.address}: searching it by vectors needs the model that made them")
        depth = max(k, DEPTH) if self.mode == "hybrid" and k > 0 else k
        searches: list[Awaitable[list[Hit]]] = []
        if self.mode != "dense":
            searches.append(in_search_thread(self._search_terms, query, depth))
        if self.mode != "bm25" and self.embeddings:
            searches.append(self._search_vector(self.embeddings, query, depth))
        rankings = await asyncio.gather(*searches)
        hits = rankings[0] if len(rankings) == 1 else fuse_rankings(rankings, k)
        return to_documents(hits, str(self.engine.address))

    def _search_terms(self, query: str, k: int) -> list[Hit]:
        terms = self.analyser.terms(query)
        return self.engine.search_terms(terms, k) if terms and k > 0 else []

    async def _search_vector(self, model: EmbeddingModel, query: str, k: int) -> list[Hit]:
        if not query.strip() or k < 1:
            return []
        return await in_search_thread(self.engine.search_vector, (await model.aquery(query)).tolist(), k)
