"""Web search by spec, `web:ENGINE?option=value&…`: Google by serper.dev, MediaWiki, langchain-community's retrievers.

langchain-community has the first two as well, but with a fixed address and without retries, and its Wikipedia search
sends about twenty requests for ten results. The package is no longer maintained, and its classes have no timeouts, so
each search runs in its own thread and is abandoned at a deadline.
"""

import asyncio
import os
import threading
import warnings
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import parse_qsl

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, Field, JsonValue, ValidationError

from hopgraph.state import CorpusError, SpecError
from hopgraph.state.errors import format_error
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.io.json_server import JsonServer
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever
from hopgraph.tools.retrieval.web.web_index import WebCache, WebIndex, WebPage, make_page, merge_by_address

SEARCH_KEY_VARIABLE = "SERPER_API_KEY"
SERPER = "https://google.serper.dev"
_MAX_WIKIPEDIA_QUERY = 300  # characters; MediaWiki refuses more
_EXTRACTS_PER_RESPONSE = 20  # MediaWiki's limit

Fields = dict[str, JsonValue]


class SerperResponse(BaseModel):
    """The fields of serper.dev's response that are read."""

    searchParameters: Fields = {}  # noqa: N815 - serper.dev's names
    answerBox: Fields | None = None  # noqa: N815
    knowledgeGraph: Fields | None = None  # noqa: N815
    organic: list[Fields] | None = None


def serper(url: str, seconds: float, retries: int, country: str, language: str) -> WebIndex:
    """Return Google search through serper.dev, as used by GenGround."""
    name, max_results = "web:serper", 100
    settings = f"country={country!r}, language={language!r}, name={name!r}, most={max_results}"
    server = JsonServer(
        f"{url.rstrip('/')}/search", SEARCH_KEY_VARIABLE, "X-API-KEY", name, CorpusError, seconds, retries
    )

    async def search(query: str, k: int) -> list[WebPage]:
        body = {"q": query, "gl": country, "hl": language, "num": min(k, max_results)}
        return (await server.request("POST", _serper_pages, json=body))[:k]

    return WebIndex(max_results, f"Serper(url={url!r}, {settings})", search)


def _serper_pages(response: Any) -> list[WebPage]:
    """Return the answer box, the knowledge panel and the results, merged by address."""
    found = SerperResponse.model_validate(response)
    if not found.model_fields_set:
        raise ValueError("no results in it")
    box, panel = found.answerBox or {}, found.knowledgeGraph or {}
    attributes = panel.get("attributes")
    facts = [f"{name}: {value}" for name, value in attributes.items()] if isinstance(attributes, dict) else []
    address = panel.get("descriptionLink") or panel.get("website")
    pages = [
        make_page(box.get("link"), box.get("title"), box.get("answer"), box.get("snippet")),
        make_page(address, panel.get("title"), panel.get("type"), panel.get("description"), *facts),
        *(make_page(each.get("link"), each.get("title"), each.get("snippet")) for each in found.organic or []),
    ]
    return merge_by_address(pages)


class WikiPages(BaseModel):
    """The articles found by a search."""

    pages: list[Fields] = []


class WikiResponse(BaseModel):
    """The fields of MediaWiki's response that are read."""

    error: Fields | None = None
    batchcomplete: JsonValue = None
    query: WikiPages = WikiPages()
    further: dict[str, str | int] | None = Field(None, alias="continue")


def wikipedia(url: str, seconds: float, retries: int) -> WebIndex:
    """Return MediaWiki's full-text search, with the introduction of each article."""
    name, max_results = "web:wikipedia", 50
    server = JsonServer(url, name=name, error=CorpusError, seconds=seconds, retries=retries)

    async def search(query: str, k: int) -> list[WebPage]:
        longest = _MAX_WIKIPEDIA_QUERY
        if len(query) > longest:  # cut before a word
            query = query[: longest + 1].rpartition(" ")[0][:longest] or query[:longest]
        parameters: dict[str, str | int] = {
            "action": "query",
            "format": "json",
            "formatversion": 2,
            "generator": "search",
            "gsrsearch": query,
            "gsrlimit": min(k, max_results),
            "gsrnamespace": 0,
            "prop": "extracts|info",
            "exintro": 1,
            "explaintext": 1,
            "exlimit": _EXTRACTS_PER_RESPONSE,
            "inprop": "url",
        }
        pages: dict[str, WebPage] = {}
        for _ in range(k):  # a server could always announce more
            found, rest = await server.request("GET", _wiki_pages, params=parameters)
            pages |= {page.url: page for page in found}
            if "excontinue" not in rest or len(pages) >= k:
                break
            parameters |= rest
        return list(pages.values())[:k]

    return WebIndex(max_results, f"Wikipedia(url={url!r}, name={name!r}, most={max_results})", search)


def _wiki_pages(response: Any) -> tuple[list[WebPage], dict[str, str | int]]:
    """Return the articles with an introduction, in search order, and the parameters that continue the query."""
    found = WikiResponse.model_validate(response)
    if found.error:
        raise ValueError(str(found.error.get("info") or found.error))
    if not found.model_fields_set:
        raise ValueError("no results in it")
    articles = sorted(found.query.pages, key=_search_rank)
    pages = (make_page(each.get("fullurl"), each.get("title"), each.get("extract")) for each in articles)
    return [page for page in pages if page], found.further or {}


def _search_rank(article: Fields) -> int:
    index = article.get("index")
    return index if isinstance(index, int) else 1 << 30


PARALLEL_SEARCHES = 4
"""Concurrent searches per engine, including those past their deadline."""
WRAPPERS = ("DuckDuckGoSearchAPIWrapper", "GoogleSearchAPIWrapper", "SearxSearchWrapper")
"""Search wrappers that are not retrievers: `results(query, k)` returns dictionaries. Others may run code."""
_K_FIELDS = ("k", "top_k_results", "top_k", "num_web_results")
_ADDRESSES = ("source", "link", "url", "Entry ID")
_SECRET = ("key", "token", "secret", "password", "headers")


def _engine_of(searcher: Any, cache_key: str, seconds: float) -> WebIndex:
    """Return an index over an object of langchain-community; `seconds` is the deadline of a search."""
    name, limit = f"web:community:{type(searcher).__name__}", asyncio.Semaphore(PARALLEL_SEARCHES)

    async def search(query: str, k: int) -> list[WebPage]:
        try:
            async with asyncio.timeout(seconds):
                await limit.acquire()
                found = await asyncio.wrap_future(_start(limit, searcher, query, k))
                return merge_by_address(map(_page, found))[:k]
        except TimeoutError:
            raise CorpusError(f"{name}: no answer in {seconds:g} s") from None
        except Exception as error:  # noqa: BLE001 - each class raises its own errors, some a bare Exception
            raise CorpusError(f"{name}: {_one_line(f'{type(error).__name__}: {error}')}") from None

    # The semaphore belongs to one event loop.
    return WebIndex(50, cache_key, lambda query, k: run_on(background_loop(), search(query, k)))


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


def make_community_engine(name: str, options: Mapping[str, str], seconds: float) -> WebIndex:
    """Return an index over any retriever class of langchain-community, or one of WRAPPERS, by name.

    `options` are fields of the class; its keys are read from the environment variables that it documents. SpecError for
    an unknown class, an option that is unknown or holds a key, or a missing package or key.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns that it is deprecated
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
            raise SpecError(f"web:community:{name}: {_one_line(format_error(error))}") from None
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
    if address is None and "uid" in fields:  # a PubMed article
        address = f"https://pubmed.ncbi.nlm.nih.gov/{fields['uid']}/"
    return make_page(address, fields.get("title") or fields.get("Title"), text)


def _one_line(text: str) -> str:
    return " ".join(redact(text).split())[:300]


VALID_WEB_SPECS = (
    "web:serper (Google; its key in SERPER_API_KEY), web:wikipedia, web:wikipedia?lang=de, "
    "web:community:CLASS (a retriever of langchain-community, e.g. ArxivRetriever, or DuckDuckGoSearchAPIWrapper)"
)
_DAY = 86_400.0

Seconds = Annotated[float, Field(ge=0.1, le=300, description="a number from 0.1 to 300, in seconds")]


class WebOptions(BaseModel, extra="forbid"):
    """The options of every web search."""

    timeout: Seconds = 10.0
    cache: Path | None = Field(None, description="a folder for results")
    cache_days: float = Field(30.0, ge=0, le=36_500, description="a number from 0 to 36500")


class CommunityOptions(WebOptions, extra="allow"):
    """The options of `web:community:CLASS`; all others are fields of the class."""

    timeout: Seconds = 60.0


class WikipediaOptions(WebOptions):
    """The options of `web:wikipedia`."""

    lang: str = Field("en", pattern=r"^[a-z]{2,3}(?:-[a-zA-Z]{2,8})*$", description="a language code, e.g. de or zh")
    base_url: str = Field(
        "",
        pattern=r"^https?://(?:\[[0-9a-fA-F:.]+\]|[^\[\]/\s]+)",
        description="the address of a compatible server, e.g. https://search.example.org",
    )
    retries: int = Field(3, ge=0, le=20, description="a number from 0 to 20")


class SerperOptions(WikipediaOptions):
    """The options of `web:serper`."""

    country: str = Field("us", pattern=r"^[a-z]{2}$", description="a country code, e.g. us or de")


_OPTIONS = {"serper": SerperOptions, "wikipedia": WikipediaOptions, "community": CommunityOptions}


@cache
def resolve_web(spec: str) -> IndexRetriever:
    """Return the retriever of a spec; the same object for the same spec. Nothing is sent yet.

    SpecError for an unknown engine, an unknown or invalid option, or a missing key; SettingsError for an unusable
    cache.
    """
    name, _, query = spec.removeprefix("web:").partition("?")
    kind, _, class_name = name.partition(":")
    if kind not in _OPTIONS or bool(class_name) != (kind == "community"):
        raise SpecError(f"unknown web search {name!r:.40}; valid: {VALID_WEB_SPECS}")
    given = dict(parse_qsl(query, keep_blank_values=True))
    if not given.get("cache", "none"):
        del given["cache"]  # an empty folder means no cache
    try:
        options = _OPTIONS[kind].model_validate(given)
    except ValidationError as error:
        option, valid = str(error.errors()[0]["loc"][0]), _OPTIONS[kind].model_fields
        if option not in valid:
            problem = f"option {option!r:.40} of {redact(spec)!r} is unknown; valid: {', '.join(valid)}"
        else:
            problem = f"{option} of {redact(spec)!r} must be {valid[option].description}, got {given[option]!r:.40}"
        raise SpecError(problem) from None
    if kind == "serper":
        _check_key(spec, needed=not given.get("base_url"))
    cache = WebCache(options.cache.expanduser(), options.cache_days * _DAY) if options.cache else None
    return IndexRetriever(index=replace(_make_engine(options, class_name), cache=cache), k=10)


def _check_key(spec: str, *, needed: bool) -> None:
    key = os.environ.get(SEARCH_KEY_VARIABLE, "").strip()
    if needed and not key:
        raise SpecError(
            f"{redact(spec)!r} needs a key of serper.dev: set the environment variable {SEARCH_KEY_VARIABLE}"
        )
    if not key.isascii() or not key.isprintable():
        raise SpecError(f"the environment variable {SEARCH_KEY_VARIABLE} has characters that cannot be part of a key")


def _make_engine(options: WebOptions, class_name: str) -> WebIndex:
    if isinstance(options, SerperOptions):
        url = options.base_url or SERPER
        return serper(url, options.timeout, options.retries, options.country, options.lang)
    if isinstance(options, WikipediaOptions):
        url = options.base_url or f"https://{options.lang}.wikipedia.org/w/api.php"
        return wikipedia(url, options.timeout, options.retries)
    return make_community_engine(class_name, cast("dict[str, str]", options.model_extra or {}), options.timeout)
