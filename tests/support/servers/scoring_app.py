"""Scoring servers over real HTTP: TEI's /rerank and /predict, and /v1/rerank of Jina, Cohere and vLLM.

A score is the share of the first text's words that the second has, so that a test can work it out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

LARGEST = 32
"""Texts in one request that TEI takes by default."""


def overlap(first: str, second: str) -> float:
    wanted, there = set(first.lower().split()), set(second.lower().split())
    return len(wanted & there) / max(1, len(wanted))


@dataclass
class ScoringApp:
    """The requests received, and faults to answer before any scores."""

    key: str | None = None
    faults: list[Response] = field(default_factory=list[Response])
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def app(self) -> Starlette:
        paths = {
            "/rerank": self._tei_rerank,
            "/predict": self._tei_predict,
            "/v1/rerank": self._cohere_rerank,
            "/odd": self._odd,
        }
        return Starlette(routes=[Route(path, handler, methods=["POST"]) for path, handler in paths.items()])

    async def _take(self, request: Request) -> dict[str, Any] | Response:
        body: dict[str, Any] = await request.json()
        self.asked.append(body)
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return PlainTextResponse("no such key", 401)
        return self.faults.pop(0) if self.faults else body

    async def _tei_rerank(self, request: Request) -> Response:
        body = await self._take(request)
        if isinstance(body, Response):
            return body
        if len(body["texts"]) > LARGEST:
            return JSONResponse({"error": "batch size too large", "error_type": "Validation"}, 413)
        assert body["raw_scores"] is True
        return JSONResponse(_ranked(body["query"], body["texts"], "score"))

    async def _cohere_rerank(self, request: Request) -> Response:
        body = await self._take(request)
        if isinstance(body, Response):
            return body
        ranked = _ranked(body["query"], body["documents"], "relevance_score")
        return JSONResponse({"id": "1", "model": body.get("model"), "results": ranked[: body["top_n"]]})

    async def _tei_predict(self, request: Request) -> Response:
        body = await self._take(request)
        if isinstance(body, Response):
            return body
        if len(body["inputs"]) > LARGEST:
            return JSONResponse({"error": "batch size too large", "error_type": "Validation"}, 413)
        scores = [overlap(hypothesis, premise) for premise, hypothesis in body["inputs"]]
        both = [[{"label": "entailment", "score": each}, {"label": "neutral", "score": 1 - each}] for each in scores]
        return JSONResponse([sorted(each, key=lambda label: -float(label["score"])) for each in both])

    async def _odd(self, _: Request) -> Response:
        return JSONResponse({"scores": [1, 2]})


def _ranked(query: str, texts: Sequence[str], name: str) -> list[dict[str, Any]]:
    scored = [{"index": index, name: overlap(query, text)} for index, text in enumerate(texts)]
    return sorted(scored, key=lambda each: -float(each[name]))
