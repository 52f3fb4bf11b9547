"""A server with OpenAI's /v1/embeddings, over real HTTP; its vectors are hashed words."""

from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from support.hashed_words import HashedWords


@dataclass
class EmbeddingApp:
    """The requests received, and faults to answer before any vectors."""

    key: str | None = None
    dimension: int = 32
    faults: list[Response] = field(default_factory=list[Response])
    good_for: int | None = None
    """Requests after which it answers with status 400; None: it goes on."""
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/embeddings", self._embed, methods=["POST"])])

    async def _embed(self, request: Request) -> Response:
        body: dict[str, Any] = await request.json()
        self.asked.append(body)
        given = request.headers.get("authorization")
        if self.key and given != f"Bearer {self.key}":
            return JSONResponse({"error": {"message": f"incorrect key: {given}"}}, 401)
        if self.good_for is not None and len(self.asked) > self.good_for:
            return PlainTextResponse("out of order", 400)
        if self.faults:
            return self.faults.pop(0)
        vectors = HashedWords(body.get("dimensions", self.dimension)).embed_documents(body["input"])
        data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        # A server may answer in any order: the index counts.
        return JSONResponse({"object": "list", "model": body["model"], "data": data[::-1]})
