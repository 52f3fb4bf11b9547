"""Base class of our LangChain retrievers: one async search serves the sync and the async interface."""

from abc import abstractmethod

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from hopgraph.tools.io.background import run_in_background


class AsyncRetriever(BaseRetriever):
    """A retriever with an async search; sync calls run it on the background loop."""

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True)

    k: int = Field(default=50, ge=1)
    """Maximum number of documents to return, unless a call overrides it: `retriever.invoke(query, k=5)`."""

    @abstractmethod
    async def search(self, query: str, k: int) -> list[Document]:
        """Return at most k documents, best first."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return run_in_background(self.search(query, self.k if k is None else k))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await self.search(query, self.k if k is None else k)
