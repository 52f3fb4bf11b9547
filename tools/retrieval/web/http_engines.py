"""Search by HTTP: Google through serper.dev, and Wikipedia or any other MediaWiki.

langchain-community's wrappers of these two are reachable as `web:community:…`. They have a fixed address, no
time limit and no retries; the one for Wikipedia sends some twenty requests for ten results and has one language
per process.
"""

from typing import Any

from pydantic import BaseModel, Field, JsonValue

from hopgraph.state import CorpusError
from hopgraph.tools.io.json_server import JsonServer
from hopgraph.tools.retrieval.web.web_index import WebEngine, WebPage, make_page, merge_by_address

KEY_VARIABLE = "SERPER_API_KEY"
SERPER = "https://google.serper.dev"
_LONGEST_WIKIPEDIA_QUERY = 300
"""Characters; MediaWiki refuses more."""
_EXTRACTS_PER_ANSWER = 20
"""Introductions that MediaWiki returns in one answer."""

Fields = dict[str, JsonValue]


class SerperAnswer(BaseModel):
    """What serper.dev returns, as far as it is read."""

    searchParameters: Fields = {}  # noqa: N815 - the names of the answer
    answerBox: Fields | None = None  # noqa: N815
    knowledgeGraph: Fields | None = None  # noqa: N815
    organic: list[Fields] | None = None


def serper(url: str, seconds: float, retries: int, country: str, language: str) -> WebEngine:
    """Return Google's results by serper.dev, as GenGround uses them."""
    name, most = "web:serper", 100
    settings = f"country={country!r}, language={language!r}, name={name!r}, most={most}"
    server = JsonServer(f"{url.rstrip('/')}/search", KEY_VARIABLE, "X-API-KEY", name, CorpusError, seconds, retries)

    async def search(query: str, k: int) -> list[WebPage]:
        """Return the answer box, the knowledge panel and the results; those of one address as one page."""
        body = {"q": query, "gl": country, "hl": language, "num": min(k, most)}
        return (await server.request("POST", _serper_pages, json=body))[:k]

    return WebEngine(name, most, f"Serper(url={url!r}, {settings})", search)


def _serper_pages(answer: Any) -> list[WebPage]:
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
    return merge_by_address(pages)


class WikiPages(BaseModel):
    """The articles that a search found."""

    pages: list[Fields] = []


class WikiAnswer(BaseModel):
    """What MediaWiki returns, as far as it is read."""

    error: Fields | None = None
    batchcomplete: JsonValue = None
    query: WikiPages = WikiPages()
    further: dict[str, str | int] | None = Field(None, alias="continue")


def wikipedia(url: str, seconds: float, retries: int) -> WebEngine:
    """Return MediaWiki's full-text search, with the introduction of each article."""
    name, most = "web:wikipedia", 50
    server = JsonServer(url, name=name, error=CorpusError, seconds=seconds, retries=retries)

    async def search(query: str, k: int) -> list[WebPage]:
        """Return the k best articles that have an introduction; a long query is cut before a word."""
        longest = _LONGEST_WIKIPEDIA_QUERY
        if len(query) > longest:
            query = query[: longest + 1].rpartition(" ")[0][:longest] or query[:longest]
        parameters: dict[str, str | int] = {
            "action": "query",
            "format": "json",
            "formatversion": 2,
            "generator": "search",
            "gsrsearch": query,
            "gsrlimit": min(k, most),
            "gsrnamespace": 0,
            "prop": "extracts|info",
            "exintro": 1,
            "explaintext": 1,
            "exlimit": _EXTRACTS_PER_ANSWER,
            "inprop": "url",
        }
        pages: dict[str, WebPage] = {}
        for _ in range(k):  # an answer may promise more for ever
            found, rest = await server.request("GET", _wiki_pages, params=parameters)
            pages |= {page.url: page for page in found}
            if "excontinue" not in rest or len(pages) >= k:
                break
            parameters |= rest
        return list(pages.values())[:k]

    return WebEngine(name, most, f"Wikipedia(url={url!r}, name={name!r}, most={most})", search)


def _wiki_pages(answer: Any) -> tuple[list[WebPage], dict[str, str | int]]:
    """Return the articles with an introduction in the order of the search, and what to ask for the rest."""
    found = WikiAnswer.model_validate(answer)
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
