"""Search several corpora as one, with any LangChain retrievers."""

import asyncio
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from pydantic import InstanceOf

from hopgraph.tools.io.background import gather_or_cancel, run_user_code
from hopgraph.tools.io.runnables import leaves_of
from hopgraph.tools.retrieval.async_retriever import AsyncRetriever

_ASYNC = "_aget_relevant_documents"


class JoinedRetriever(AsyncRetriever):
    """Searches unrelated corpora and interleaves their results, best first.

    They are taken in turn, since scores of different corpora are not comparable.
    """

    retrievers: dict[str, str | InstanceOf[Runnable[str, Any]]]
    """Specs or objects by the prefix of their documents' ids, which keeps equal ids apart."""
    links: bool = True
    """True to follow links between passages in indexes that have them."""

    async def search(self, query: str, k: int) -> list[Document]:
        """Search all of them at once; a document's score is 1 / rank."""
        found = await gather_or_cancel(self._search_one(*each, query, k) for each in self.retrievers.items())
        ranks = range(max(map(len, found), default=0))
        documents = [documents[rank] for rank in ranks for documents in found if rank < len(documents)][:k]
        for rank, document in enumerate(documents, start=1):
            document.metadata["score"] = 1 / rank
        return documents

    async def _search_one(self, prefix: str, given: str | Runnable[str, Any], query: str, k: int) -> list[Document]:
        retriever = await open_retriever(given, links=self.links)
        return [
            document.model_copy(
                update={"id": document.id and f"{prefix}{document.id}", "metadata": dict(document.metadata)}
            )
            for document in await fetch_documents(retriever, query, k)
        ]


async def open_retriever(given: str | Runnable[str, Any], *, links: bool = True) -> Runnable[str, Any]:
    """Return the retriever of a spec, or the one given; without `links` it follows none."""
    return given if links and isinstance(given, Runnable) else await asyncio.to_thread(_open, given, links=links)


def _open(given: str | Runnable[str, Any], *, links: bool) -> Runnable[str, Any]:
    from hopgraph.tools.retrieval.linked_index import without_links  # in the thread, since they import NumPy
    from hopgraph.tools.retrieval.resolve import resolve_retriever

    retriever = resolve_retriever(given) if isinstance(given, str) else given
    return retriever if links else without_links(retriever)


async def fetch_documents(retriever: Runnable[str, Any], query: str, count: int) -> list[Document]:
    """Call any LangChain retriever, with `k` if it accepts that; else it returns its own number of passages.

    The same holds for another Runnable (`.with_retry()`, `.with_fallbacks()`, a chain) that returns documents.
    """
    if not isinstance(retriever, BaseRetriever):
        inner = leaves_of(retriever)
        takes_k = all(isinstance(each, BaseRetriever) and _takes_k(_own_method(each, _ASYNC)) for each in inner)
        options: dict[str, Any] = {"k": count} if takes_k else {}
        return await retriever.ainvoke(query, **options)
    own_async = _own_method(retriever, _ASYNC)
    takes_k = _takes_k(own_async or _own_method(retriever, "_get_relevant_documents"))
    options = {"k": count} if takes_k else {}
    if own_async:
        return await retriever.ainvoke(query, **options)
    # The inherited async method would not pass `k` on to the sync one.
    return await run_user_code(retriever.invoke, query, **options)


def _own_method(retriever: BaseRetriever, name: str) -> Callable[..., Any] | None:
    method = getattr(type(retriever), name)
    return None if method is getattr(BaseRetriever, name) else method


@cache
def _takes_k(method: Callable[..., Any] | None) -> bool:
    parameters = inspect.signature(method).parameters.values() if method else ()
    return any(each.name == "k" or each.kind is each.VAR_KEYWORD for each in parameters)
