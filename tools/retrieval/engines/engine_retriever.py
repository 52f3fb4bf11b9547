"""An engine as a LangChain retriever."""

import asyncio
from collections.abc import Awaitable, Sequence

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.embeddings import EmbeddingModel
from hopgraph.tools.retrieval.engines.address import Mode
from hopgraph.tools.retrieval.engines.engine import SearchEngine
from hopgraph.tools.retrieval.fusion import DEPTH, fuse_rankings
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.text import Analyser


class EngineRetriever(BaseRetriever):
    """Finds passages in an engine, by words, by vectors, or by both."""

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True)

    engine: SkipValidation[SearchEngine]
    analyser: Analyser
    mode: Mode = "bm25"
    embeddings: SkipValidation[EmbeddingModel] | None = None
    """The model that the engine's vectors were made with; needed unless the mode is bm25."""
    k: int = Field(default=50, ge=1)
    """How many documents to return at most, unless a call says otherwise: `retriever.invoke(query, k=5)`."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        wanted, depth = self._numbers(k)
        rankings: list[list[Hit]] = []
        if self.mode != "dense":
            rankings.append(self._by_words(query, depth))
        if self.mode != "bm25":
            vector = self._model().query(query).tolist() if query.strip() else None
            rankings.append(self._by_vector(vector, depth))
        return self._documents(rankings, wanted)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        wanted, depth = self._numbers(k)

        async def by_meaning() -> list[Hit]:
            vector = (await self._model().aquery(query)).tolist() if query.strip() else None
            return await asyncio.to_thread(self._by_vector, vector, depth)

        ways: list[Awaitable[list[Hit]]] = []
        if self.mode != "dense":
            ways.append(asyncio.to_thread(self._by_words, query, depth))
        if self.mode != "bm25":
            ways.append(by_meaning())
        return self._documents(await asyncio.gather(*ways), wanted)

    def _numbers(self, k: int | None) -> tuple[int, int]:
        """Return how many documents are wanted, and how many each way of searching is asked for."""
        wanted = self.k if k is None else k
        return wanted, max(wanted, DEPTH) if self.mode == "hybrid" and wanted > 0 else wanted

    def _model(self) -> EmbeddingModel:
        if self.embeddings is None:
            raise CorpusError(f"{self.engine.address}: searching it by vectors needs the model that made them")
        return self.embeddings

    def _by_words(self, query: str, k: int) -> list[Hit]:
        terms = self.analyser.terms(query)
        return self.engine.by_terms(terms, k) if terms and k > 0 else []

    def _by_vector(self, vector: list[float] | None, k: int) -> list[Hit]:
        return self.engine.by_vector(vector, k) if vector and k > 0 else []

    def _documents(self, rankings: Sequence[list[Hit]], k: int) -> list[Document]:
        """Return documents best first, equal scores by id; metadata: title, score and source."""
        return [
            Document(
                id=hit.passage.id,
                page_content=hit.passage.text,
                metadata={"title": hit.passage.title, "score": hit.score, "source": str(self.engine.address)},
            )
            for hit in (rankings[0] if len(rankings) == 1 else fuse_rankings(rankings, k))
        ]
