"""A LangChain chat model behind OpenAI's HTTP API: chat completions, whole or streamed, and the list of models."""

import hashlib
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_messages
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hopgraph.tools.apps.evaluation.rehearsal.openai_wire import ChatAnswer, ChatRequest
from hopgraph.tools.models.offline.prompt_blocks import role_of


class RequestLog:
    """Writes one line of JSON for each request that was answered, at once.

    `role`, `sha256` of the request's body, `time` of the answer in seconds since the epoch, and the `seconds` that
    it took. A request that was refused, or broken off by the client, has none.
    """

    def __init__(self, file: TextIO | None) -> None:
        """Write to an open file; None writes nothing."""
        self._file = file

    def answered(self, role: str, body: bytes, began: float) -> None:
        """Write the line of one request; `began` is by `time.time`."""
        if self._file is None:
            return
        now = time.time()
        line = {
            "role": role,
            "sha256": hashlib.sha256(body).hexdigest(),
            "time": round(now, 6),
            "seconds": round(now - began, 6),
        }
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


class ChatServer:
    """The ASGI application `asgi` around one model, which is served by any name."""

    def __init__(self, model: BaseChatModel, name: str, log: RequestLog) -> None:
        """Serve `model`, listed as `name`."""
        self._model, self._name, self._log = model, name, log
        self.asgi = Starlette(
            routes=[
                Route("/v1/models", self.list_models, methods=["GET"]),
                Route("/v1/chat/completions", self.complete, methods=["POST"]),
            ]
        )

    async def list_models(self, _request: Request) -> Response:
        """Answer `GET /v1/models`."""
        listed = {"id": self._name, "object": "model", "created": 0, "owned_by": "hopgraph"}
        return JSONResponse({"object": "list", "data": [listed]})

    async def complete(self, request: Request) -> Response:
        """Answer `POST /v1/chat/completions`; a request that cannot be read gets status 400 and the reason."""
        began, body = time.time(), await request.body()
        try:
            asked = ChatRequest.model_validate_json(body)
            messages = _messages(asked.messages)
        except ValidationError as error:
            first = error.errors()[0]
            return _refused(first["msg"], ".".join(str(part) for part in first["loc"]))
        except (ValueError, TypeError, KeyError) as error:
            return _refused(f"messages cannot be read: {error}", "messages")
        said = await self._model.ainvoke(messages)
        self._log.answered(role_of(messages), body, began)
        answer = ChatAnswer(f"chatcmpl-{uuid.uuid4().hex}", int(began), asked, said)
        if asked.stream:
            return StreamingResponse(answer.events(), media_type="text/event-stream")
        return JSONResponse(answer.body())


def _messages(given: Sequence[Mapping[str, Any]]) -> list[BaseMessage]:
    return convert_to_messages([dict(each) for each in given])


def _refused(message: str, param: str) -> Response:
    problem = {"message": message, "type": "invalid_request_error", "param": param or None, "code": None}
    return JSONResponse({"error": problem}, status_code=400)
