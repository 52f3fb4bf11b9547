"""A search engine as a LangChain retriever."""

from collections.abc import Sequence

from langchain_core.documents import Document
from pydantic import Field, SkipValidation

from hopgraph.tools.io.background import background_loop, in_search_thread, run_on
from hopgraph.tools.retrieval.passage_retriever import PassageRetriever
from hopgraph.tools.retrieval.web.search_cache import WebCache
from hopgraph.tools.retrieval.web.web_pages import WebEngine, WebPage


class WebRetriever(PassageRetriever):
    """Finds pages on the web. Results change with the web: cache them to repeat a run."""

    engine: SkipValidation[WebEngine]
    cache: SkipValidation[WebCache] | None = None
    k: int = Field(default=10, ge=1)
    """How many documents to return at most, unless a call says otherwise: `retriever.invoke(query, k=5)`."""

    async def find(self, query: str, k: int) -> list[Document]:
        """Return documents in the engine's order, with their address as id and source.

        Engines return ranks, no scores, so the score is 1 / rank. Empty for a blank query.
        """
        wanted = min(k, self.engine.most)
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
        key = self.engine.cache_key
        cached = await in_search_thread(self.cache.read, key, query, k) if self.cache else None
        if cached is not None:
            return cached
        pages = await run_on(background_loop(), self.engine.search(query, k))
        if self.cache:
            await in_search_thread(self.cache.write, key, query, k, pages)
        return pages
