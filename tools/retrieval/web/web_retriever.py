"""A search engine as a LangChain retriever."""

import asyncio
from collections.abc import Sequence

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation

from hopgraph.state import SettingsError
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.retrieval.web.search_apis import WebPage
from hopgraph.tools.retrieval.web.search_cache import WebCache
from hopgraph.tools.retrieval.web.search_client import WebClient


class WebRetriever(BaseRetriever):
    """Finds pages on the web. What it finds changes with the web: keep results in a cache to repeat a run."""

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True)

    client: SkipValidation[WebClient]
    cache: SkipValidation[WebCache] | None = None
    k: int = Field(default=10, ge=1)
    """How many documents to return at most, unless a call says otherwise: `retriever.invoke(query, k=5)`."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return run_in_background(self._search(query, k))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await self._search(query, k)

    async def _search(self, query: str, k: int | None) -> list[Document]:
        """Return documents in the engine's order, with their address as id and source.

        A search engine gives ranks alone, so the score is 1 / rank. Empty for a blank query.
        """
        wanted = min(self.k if k is None else k, self.client.engine.most)
        query = " ".join(query.encode(errors="ignore").decode().split())
        if wanted < 1 or not query:
            return []
        pages = await self._pages(query, wanted)
        return [
            Document(
                id=page.url,
                page_content=page.text,
                metadata={"title": page.title, "score": 1.0 / rank, "source": page.url},
            )
            for rank, page in enumerate(pages, start=1)
        ]

    async def _pages(self, query: str, k: int) -> Sequence[WebPage]:
        engine = self.client.engine
        if self.cache is None:
            return await self.client.search(query, k)
        kept = await asyncio.to_thread(self.cache.read, engine, query, k)
        if kept is not None:
            return kept
        pages = await self.client.search(query, k)
        try:
            await asyncio.to_thread(self.cache.write, engine, query, k, pages)
        except OSError as error:
            raise SettingsError(f"the cache {self.cache.folder} cannot be written: {error.strerror or error}") from None
        return pages
