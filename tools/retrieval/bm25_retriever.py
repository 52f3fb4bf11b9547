"""BM25 as a LangChain retriever."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from pydantic import InstanceOf

from hopgraph.tools.retrieval.index import Hit, Index
from hopgraph.tools.retrieval.passage_retriever import PassageRetriever, to_documents

_SMALL_INDEX, _SHORT_QUERY = 20_000, 2_000
"""Passages and characters up to which a search takes less time than handing it to a thread."""
_searching = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hopgraph-bm25")
"""A thread per core: more are no faster, and each that waits for Python's lock delays the event loop."""


class Bm25Retriever(PassageRetriever):
    """Finds passages by BM25; the same query on the same index always gives the same list."""

    index: InstanceOf[Index]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return to_documents(self.index.search(query, self.k if k is None else k), self.index.source)

    async def find(self, query: str, k: int) -> list[Document]:
        """Search in a thread where that takes long."""
        return to_documents(await search_in_pool(self.index, query, k), self.index.source)


async def search_in_pool(index: Index, query: str, k: int) -> list[Hit]:
    """Search without blocking the event loop for longer than a hand-over to a thread would."""
    if len(index) <= _SMALL_INDEX and len(query) <= _SHORT_QUERY:
        return index.search(query, k)
    return await asyncio.get_running_loop().run_in_executor(_searching, index.search, query, k)
