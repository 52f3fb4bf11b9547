"""`web:community:CLASS`: search through a retriever of langchain-community, or one of its search wrappers.

The package is no longer maintained upstream, and its classes have no time limit: each search runs in a thread of
its own and is given up at a deadline.
"""

import asyncio
import threading
import warnings
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ValidationError

from hopgraph.state import CorpusError, SpecError
from hopgraph.state.errors import describe_problem
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.web.web_index import WebEngine, WebPage, make_page, merge_by_address

PARALLEL = 4
"""Searches in flight per engine, those past their deadline included."""
WRAPPERS = ("DuckDuckGoSearchAPIWrapper", "GoogleSearchAPIWrapper", "SearxSearchWrapper")
"""Search wrappers that are no retrievers: `results(query, k)` returns dictionaries. Others may run code."""
_K_FIELDS = ("k", "top_k_results", "top_k", "num_web_results")
_ADDRESSES = ("source", "link", "url", "Entry ID")
_SECRET = ("key", "token", "secret", "password", "headers")


def _engine_of(searcher: Any, cache_key: str, seconds: float) -> WebEngine:
    """Return the engine of an object of langchain-community; `seconds` is the deadline of a search."""
    name, limit = f"web:community:{type(searcher).__name__}", asyncio.Semaphore(PARALLEL)

    async def search(query: str, k: int) -> list[WebPage]:
        """Return at most k pages in the order of the class; those without a web address are left out."""
        try:
            async with asyncio.timeout(seconds):
                await limit.acquire()
                found = await asyncio.wrap_future(_start(limit, searcher, query, k))
                return merge_by_address(map(_page, found))[:k]
        except TimeoutError:
            raise CorpusError(f"{name}: no answer in {seconds:g} s") from None
        except Exception as error:  # noqa: BLE001 - each class raises errors of its own, some a bare Exception
            raise CorpusError(f"{name}: {_one_line(f'{type(error).__name__}: {error}')}") from None

    # The limit belongs to one event loop.
    return WebEngine(name, 50, cache_key, lambda query, k: run_on(background_loop(), search(query, k)))


def _start(limit: asyncio.Semaphore, searcher: Any, query: str, k: int) -> Future[list[Any]]:
    """Search in a daemon thread, so that one that hangs does not keep the process alive."""
    future: Future[list[Any]] = Future()
    future.set_running_or_notify_cancel()
    loop = asyncio.get_running_loop()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(limit.release))

    def work() -> None:
        try:
            future.set_result(list(_search(searcher, query, k)))
        except BaseException as error:  # noqa: BLE001 - raised again by `search`
            future.set_exception(error)

    threading.Thread(target=work, name="hopgraph-web", daemon=True).start()
    return future


def make_community_engine(name: str, options: Mapping[str, str], seconds: float) -> WebEngine:
    """Make an object of any retriever class of langchain-community, or of one of WRAPPERS, by name.

    `options` are fields of the class; its keys are read from the environment variables that it documents.

    Raises:
        SpecError: no such class, an option that it does not have or that holds a key, or a package or key is missing.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns of its end
        package = "langchain_community.utilities" if name in WRAPPERS else "langchain_community.retrievers"
        module = require(package, "web")
        if name not in module.__all__:
            valid = ", ".join((*WRAPPERS, *module.__all__))
            raise SpecError(f"langchain-community has no search class {name!r:.40}; valid: {valid}")
        kind = getattr(module, name)
        for option in options:
            if any(word in option.lower() for word in _SECRET):
                raise SpecError(f"web:community:{name}: {option!r:.40} is read from the environment, not from a spec")
            if option not in kind.model_fields:
                valid = ", ".join(kind.model_fields)
                raise SpecError(f"web:community:{name}: option {option!r:.40} is unknown; valid: {valid}")
        try:
            searcher = kind(**options)
        except (ImportError, ValidationError) as error:
            raise SpecError(f"web:community:{name}: {_one_line(describe_problem(error))}") from None
    return _engine_of(searcher, f"{name}({sorted(options.items())})", seconds)


def _search(searcher: Any, query: str, k: int) -> list[Any]:
    if not isinstance(searcher, BaseRetriever):
        return searcher.results(query, k)
    limits = {name: k for name in _K_FIELDS if name in type(searcher).model_fields}
    return searcher.model_copy(update=limits).invoke(query)


def _page(found: Any) -> WebPage | None:
    if isinstance(found, Document):
        fields, text = cast("dict[str, Any]", found.metadata), found.page_content
    else:
        fields = cast("dict[str, Any]", found)
        text = fields.get("snippet")
    address = next((fields[name] for name in _ADDRESSES if fields.get(name)), None)
    if address is None and "uid" in fields:  # PubMed's number of an article
        address = f"https://pubmed.ncbi.nlm.nih.gov/{fields['uid']}/"
    return make_page(address, fields.get("title") or fields.get("Title"), text)


def _one_line(text: str) -> str:
    return " ".join(redact(text).split())[:300]
