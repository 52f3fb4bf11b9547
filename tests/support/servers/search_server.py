"""A search server on loopback with the APIs of serper.dev and MediaWiki, and with faults."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from support.servers.loopback import LoopbackServer

SERPER_ANSWER: dict[str, Any] = {
    "searchParameters": {"q": "x", "gl": "us", "hl": "en", "num": 10, "type": "search", "engine": "google"},
    "answerBox": {
        "title": "Statue of Liberty / Sculptor",
        "answer": "Frédéric Auguste Bartholdi",
        "snippet": "The statue was designed by Bartholdi.",
        "link": "https://en.wikipedia.org/wiki/Statue_of_Liberty",
    },
    "knowledgeGraph": {
        "title": "Frédéric Auguste Bartholdi",
        "type": "French sculptor",
        "website": "https://bartholdi.example.org/",
        "imageUrl": "https://images.example.org/x.png",
        "description": "He was born in Colmar.",
        "descriptionSource": "Wikipedia",
        "descriptionLink": "https://en.wikipedia.org/wiki/Bartholdi",
        "attributes": {"Born": "August 2, 1834, Colmar", "Died": "October 4, 1904"},
    },
    "organic": [
        {
            "title": "Statue of Liberty - Wikipedia",
            "link": "https://en.wikipedia.org/wiki/Statue_of_Liberty",
            "snippet": "A colossal neoclassical sculpture on Liberty Island.\u202e",
            "position": 1,
            "sitelinks": [{"title": "History", "link": "https://en.wikipedia.org/wiki/Statue#History"}],
        },
        {"title": "No address", "snippet": "text", "position": 2},
        {"title": "A script", "link": "javascript:alert(1)", "snippet": "text", "position": 3},
        {"title": "No text", "link": "https://example.org/empty", "position": 4},
        {
            "title": "Bartholdi Museum",
            "link": "https://museum.example.org/",
            "snippet": "The museum in Colmar.",
            "date": "Mar 3, 2021",
            "position": 5,
        },
    ],
    "peopleAlsoAsk": [{"question": "Who paid?", "snippet": "Many.", "title": "t", "link": "https://example.org/q"}],
    "relatedSearches": [{"query": "eiffel"}],
    "credits": 1,
}

SEARX_RESULTS: list[dict[str, Any]] = [
    {"url": "https://a.example.org/", "title": "A", "content": "The first.", "engines": ["x"], "category": "general"},
    {"url": "https://b.example.org/", "title": "B", "content": "The second.", "engines": ["x"], "category": "general"},
    {"url": "https://c.example.org/", "title": "C", "content": "The third.", "engines": ["x"], "category": "general"},
]
REMOTE_DOCUMENTS: list[dict[str, Any]] = [
    {
        "page_content": "This is a sentence. " * 500,
        "metadata": {"title": "A", "source": "https://a.example.org/"},
    },
    {"page_content": "No address.", "metadata": {"title": "None"}},
    {"page_content": "An abstract.\u202e", "metadata": {"Title": "B", "uid": 77}},
]


def article(number: int, index: int, text: str | None = None) -> dict[str, Any]:
    return {
        "pageid": number,
        "ns": 0,
        "title": f"Article {number}",
        "index": index,
        **({} if text == "" else {"extract": text or f"The introduction of article {number}."}),
        "contentmodel": "wikitext",
        "pagelanguage": "en",
        "touched": "2024-05-01T00:00:00Z",
        "lastrevid": 1,
        "length": 100,
        "fullurl": f"https://en.wikipedia.org/wiki/Article_{number}",
        "editurl": f"https://en.wikipedia.org/w/index.php?title=Article_{number}&action=edit",
        "canonicalurl": f"https://en.wikipedia.org/wiki/Article_{number}",
    }


@dataclass
class Fault:
    """A response instead of results."""

    status: int = 200
    body: bytes = b"{}"
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Seen:
    """A received request."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any] | None
    headers: dict[str, str]


class SearchServer:
    """Serves Serper's, MediaWiki's, SearxNG's and LangChain's interfaces; queued faults come first, one per request."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.serper: Any = SERPER_ANSWER
        self.articles = [article(7, 2), article(3, 1), article(9, 3)]
        routes = [
            Route("/search", self._serper, methods=["POST"]),
            Route("/w/api.php", self._wiki, methods=["GET"]),
            Route("/searx", self._searx, methods=["GET"]),
            Route("/remote", self._remote, methods=["POST"]),
        ]
        self._server = LoopbackServer(Starlette(routes=routes))
        self.url = self._server.url

    async def _note(self, request: Request) -> Response | None:
        content = await request.body()
        body = json.loads(content) if content else None
        self.seen.append(
            Seen(request.method, request.url.path, dict(request.query_params), body, dict(request.headers))
        )
        if not self.faults:
            return None
        fault = self.faults.pop(0)
        with suppress(TimeoutError):  # ignore clients that have given up
            await asyncio.wait_for(request.receive(), fault.seconds)
        return Response(fault.body, fault.status, fault.headers)

    async def _serper(self, request: Request) -> Response:
        return await self._note(request) or JSONResponse(self.serper)

    async def _searx(self, request: Request) -> Response:
        """Respond like SearxNG."""
        return await self._note(request) or JSONResponse({"results": SEARX_RESULTS})

    async def _remote(self, request: Request) -> Response:
        """Respond like a server for LangChain's RemoteLangChainRetriever."""
        return await self._note(request) or JSONResponse({"response": REMOTE_DOCUMENTS})

    async def _wiki(self, request: Request) -> Response:
        """Respond like api.php: all articles found, with extracts of 20 and the rest by `continue`."""
        if fault := await self._note(request):
            return fault
        query = request.query_params
        if len(query["gsrsearch"]) > 300:
            return JSONResponse(
                {"error": {"code": "cirrussearch-query-too-long", "info": "Search request is too long"}}
            )
        found = sorted(self.articles, key=lambda each: each["index"])[: int(query["gsrlimit"])]
        if not found:
            return JSONResponse({"batchcomplete": True})
        first, size = int(query.get("excontinue", 0)), int(query["exlimit"])
        shown = [each["pageid"] for each in found[first : first + size]]
        # By page id, as MediaWiki does.
        pages = [
            {name: value for name, value in each.items() if name != "extract" or each["pageid"] in shown}
            for each in sorted(found, key=lambda each: each["pageid"])
        ]
        answer: dict[str, Any] = {"batchcomplete": True, "query": {"pages": pages}}
        if first + size < len(found):
            answer = {"continue": {"excontinue": first + size, "continue": "||info"}, "query": {"pages": pages}}
        return JSONResponse(answer)

    def start(self) -> None:
        self._server.start()

    def close(self) -> None:
        self._server.close()
