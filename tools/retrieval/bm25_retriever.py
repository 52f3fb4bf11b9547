"""BM25 as a LangChain retriever."""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, InstanceOf

from hopgraph.tools.retrieval.index import Hit, Index

_SMALL_INDEX, _SHORT_QUERY = 20_000, 2_000
"""Passages and characters up to which a search is done sooner than a thread has taken it over."""
_searching = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hopgraph-bm25")
"""A thread per core: more are no faster, and each that waits for Python's lock delays the event loop."""


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
        return await asyncio.get_running_loop().run_in_executor(_searching, self._search, query, k)

    def _search(self, query: str, k: int | None) -> list[Document]:
        return to_documents(self.index.search(query, self.k if k is None else k), self.index.source)


def to_documents(hits: Sequence[Hit], source: str) -> list[Document]:
    """Turn hits into documents, in their order; metadata: title, score and source."""
    return [
        Document(
            id=hit.passage.id,
            page_content=hit.passage.text,
            metadata={"title": hit.passage.title, "score": hit.score, "source": source},
        )
        for hit in hits
    ]
