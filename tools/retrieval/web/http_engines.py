"""Search by one HTTP request: Google through serper.dev, and Wikipedia or any other MediaWiki.

langchain-community's wrappers of these two are reachable as `web:community:…`. They have a fixed address, no
time limit and no retries; the one for Wikipedia sends some twenty requests for ten results and has one language
per process.
"""

import asyncio
import json
import os
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

import httpx
from pydantic import BaseModel, Field, JsonValue, ValidationError

from hopgraph.state import CorpusError
from hopgraph.tools.io.http_retries import retrying, status_of
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.web.web_pages import WebEngine, WebPage, make_page, merge_by_address

KEY_VARIABLE = "SERPER_API_KEY"
SERPER = "https://google.serper.dev"
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
"""Seconds before the first retry, doubled for each further one, and at most; the server's Retry-After comes first."""
PARALLEL = 4
"""Concurrent requests per engine."""
LARGEST_ANSWER = 16 * 1024**2
"""Bytes; more is no list of results."""
_LONGEST_WIKIPEDIA_QUERY = 300
"""Characters; MediaWiki refuses more."""
_EXTRACTS_PER_ANSWER = 20
"""Introductions that MediaWiki returns in one answer."""

Request = dict[str, Any]
"""The arguments of `httpx.AsyncClient.stream`."""
Fields = dict[str, JsonValue]


@dataclass
class HttpEngine(WebEngine):
    """An engine with a JSON interface."""

    url: str
    seconds: float = 10.0
    """Time limit of one request."""
    retries: int = 3
    """After a rate limit, a server error or a lost connection."""
    _limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARALLEL), init=False, repr=False)

    def headers(self) -> dict[str, str]:
        """Return the headers of a request; read anew each time, so that no key is kept."""
        return {}

    def first_request(self, query: str, k: int) -> Request:
        """Return the first request of a search."""
        raise NotImplementedError

    def read(self, request: Request, answer: Any) -> tuple[list[WebPage], Request | None]:
        """Return the results in an answer, best first, and the request for the rest; None when it is complete.

        Raises:
            ValueError: another engine's answer, or an error, which the message repeats.
        """
        raise NotImplementedError

    async def search(self, query: str, k: int) -> list[WebPage]:
        """Return at most k pages, best first.

        Raises:
            CorpusError: refused, unreachable, still failing after the retries, or an answer of another shape.
        """
        pages: dict[str, WebPage] = {}
        request: Request | None = self.first_request(query, k)
        for _ in range(k):  # an answer may promise more for ever
            answer = await self._answer(request)
            try:
                found, request = self.read(request, answer)
            except ValidationError as error:
                first = error.errors()[0]
                what = ": ".join([*map(str, first["loc"]), first["msg"]])
                raise self._error(f"the answer is not as expected: {what}") from None
            except ValueError as error:
                raise self._error(f"the answer is not as expected: {error}") from None
            pages |= {page.url: page for page in found}
            if request is None or len(pages) >= k:
                break
        return list(pages.values())[:k]

    async def _answer(self, request: Request) -> Any:
        try:
            async with self._limit:
                return await retrying(self.retries + 1, FIRST_WAIT, LONGEST_WAIT)(self._send, request)
        except httpx.HTTPStatusError as error:
            hint = f"; check {KEY_VARIABLE}" if status_of(error) in {401, 403} and self.headers() else ""
            raise self._error(f"HTTP {status_of(error)}: {' '.join(str(error).split())[:200]}{hint}") from None
        except (httpx.TimeoutException, TimeoutError):
            raise self._error(f"no answer in {self.seconds:g} s") from None
        except httpx.TransportError:
            raise self._error(f"cannot reach {self.url}") from None
        except (ValueError, RecursionError):
            raise self._error("the answer is not JSON") from None

    async def _send(self, request: Request) -> Any:
        headers = {"User-Agent": f"hopgraph/{version('hopgraph')}", **self.headers()}
        # The time limit is for the whole answer; httpx's own is for each piece of it.
        async with (
            asyncio.timeout(self.seconds),
            _client().stream(**request, headers=headers, timeout=None) as response,
        ):
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > LARGEST_ANSWER:
                    raise self._error(f"the answer is larger than {LARGEST_ANSWER:,} bytes")
            if response.is_redirect:
                raise self._error(f"HTTP {response.status_code}: it redirects, which is not followed; fix base_url")
            if response.is_error:
                message = bytes(content[:2000]).decode(errors="replace")
                raise httpx.HTTPStatusError(message, request=response.request, response=response)
            return json.loads(content)

    def _error(self, what: str) -> CorpusError:
        return CorpusError(redact(f"{self.name}: {what}"))


@cache
def _client() -> httpx.AsyncClient:
    """Return the client of all engines; it lives on the background loop, and as long as the process."""
    return httpx.AsyncClient()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_client.cache_clear)


class SerperAnswer(BaseModel):
    """What serper.dev returns, as far as it is read."""

    searchParameters: Fields = {}  # noqa: N815 - the names of the answer
    answerBox: Fields | None = None  # noqa: N815
    knowledgeGraph: Fields | None = None  # noqa: N815
    organic: list[Fields] | None = None


@dataclass
class Serper(HttpEngine):
    """Google's results by serper.dev, as GenGround uses them."""

    country: str = "us"
    language: str = "en"
    name = "web:serper"
    most = 100

    def __post_init__(self) -> None:
        settings = f"country={self.country!r}, language={self.language!r}, name={self.name!r}, most={self.most}"
        self.cache_key = f"Serper(url={self.url!r}, {settings})"

    def headers(self) -> dict[str, str]:
        """Return the key, if there is one."""
        key = os.environ.get(KEY_VARIABLE, "").strip()
        return {"X-API-KEY": key} if key else {}

    def first_request(self, query: str, k: int) -> Request:
        """Ask for k results."""
        body = {"q": query, "gl": self.country, "hl": self.language, "num": min(k, self.most)}
        return {"method": "POST", "url": f"{self.url.rstrip('/')}/search", "json": body}

    def read(self, request: Request, answer: Any) -> tuple[list[WebPage], None]:
        """Return the answer box, the knowledge panel and the results; those of one address as one page."""
        found = SerperAnswer.model_validate(answer)
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
        return merge_by_address(pages), None


class WikiPages(BaseModel):
    """The articles that a search found."""

    pages: list[Fields] = []


class WikiAnswer(BaseModel):
    """What MediaWiki returns, as far as it is read."""

    error: Fields | None = None
    batchcomplete: JsonValue = None
    query: WikiPages = WikiPages()
    further: dict[str, str | int] | None = Field(None, alias="continue")


@dataclass
class Wikipedia(HttpEngine):
    """MediaWiki's full-text search, with the introduction of each article."""

    name = "web:wikipedia"
    most = 50

    def __post_init__(self) -> None:
        self.cache_key = f"Wikipedia(url={self.url!r}, name={self.name!r}, most={self.most})"

    def first_request(self, query: str, k: int) -> Request:
        """Ask for the k best articles; a long query is cut before a word."""
        longest = _LONGEST_WIKIPEDIA_QUERY
        if len(query) > longest:
            query = query[: longest + 1].rpartition(" ")[0][:longest] or query[:longest]
        parameters = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "generator": "search",
            "gsrsearch": query,
            "gsrlimit": str(min(k, self.most)),
            "gsrnamespace": "0",
            "prop": "extracts|info",
            "exintro": "1",
            "explaintext": "1",
            "exlimit": str(_EXTRACTS_PER_ANSWER),
            "inprop": "url",
        }
        return {"method": "GET", "url": self.url, "params": parameters}

    def read(self, request: Request, answer: Any) -> tuple[list[WebPage], Request | None]:
        """Return the articles that have an introduction, in the order of the search; the others may follow."""
        found = WikiAnswer.model_validate(answer)
        if found.error:
            raise ValueError(str(found.error.get("info") or found.error))
        if not found.model_fields_set:
            raise ValueError("no results in it")
        articles = sorted(found.query.pages, key=_search_rank)
        pages = [make_page(each.get("fullurl"), each.get("title"), each.get("extract")) for each in articles]
        more = found.further or {}
        rest = {**request, "params": request["params"] | more} if "excontinue" in more else None
        return [page for page in pages if page], rest


def _search_rank(article: Fields) -> int:
    index = article.get("index")
    return index if isinstance(index, int) else 1 << 30
