"""BM25 as a LangChain retriever."""

import asyncio

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, InstanceOf

from hopgraph.tools.retrieval.index import Index

_SMALL_INDEX, _SHORT_QUERY = 20_000, 2_000
"""Passages and characters up to which a search is done sooner than a thread has taken it over."""


class Bm25Retriever(BaseRetriever):
    """Finds passages by BM25; the same query on the same index always gives the same list."""

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True)

    index: InstanceOf[Index]
    k: int = Field(default=50, ge=1)
    """How many documents to return at most, unless a call says otherwise: `retriever.invoke(query, k=5)`."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._search(query, k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        if len(self.index) <= _SMALL_INDEX and len(query) <= _SHORT_QUERY:
            return self._search(query, k)
        return await asyncio.to_thread(self._search, query, k)

    def _search(self, query: str, k: int | None) -> list[Document]:
        """Return documents best first, equal scores by id; metadata: title, score and source."""
        return [
            Document(
                id=hit.passage.id,
                page_content=hit.passage.text,
                metadata={"title": hit.passage.title, "score": hit.score, "source": self.index.source},
            )
            for hit in self.index.search(query, self.k if k is None else k)
        ]
