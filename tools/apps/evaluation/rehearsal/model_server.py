"""A LangChain chat model behind OpenAI's HTTP API: chat completions, whole or streamed, and the list of models."""

import hashlib
import json
import time
import uuid
from collections.abc import Iterator
from typing import Any, Literal, TextIO

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_messages
from pydantic import BaseModel, Field, JsonValue, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hopgraph.tools.models.offline.prompt_blocks import role_of


class _Function(BaseModel):
    name: str


class _Tool(BaseModel):
    function: _Function


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _Body(BaseModel):
    """The fields of a request that are acted on; all others, as `response_format`, are accepted and ignored."""

    model: str
    messages: list[dict[str, Any]] = Field(min_length=1)
    n: Literal[1] | None = None
    stream: bool = False
    stream_options: _StreamOptions | None = None
    tools: list[_Tool] = []
    tool_choice: Literal["none", "auto", "required"] | _Tool = "auto"

    @property
    def forced_tool(self) -> str:
        """The function that must be called; empty where the model may answer in words."""
        if isinstance(self.tool_choice, _Tool):
            return self.tool_choice.function.name
        return self.tools[0].function.name if self.tool_choice == "required" and self.tools else ""


class ChatServer:
    """The ASGI application `asgi` around one model, which is served by any name.

    Each answered request is one line of JSON in the log, at once: `role`, `sha256` of the request's body, `time` of
    the answer in seconds since the epoch, and the `seconds` that it took. A request that was refused, or aborted by
    the client, has none.
    """

    def __init__(self, model: BaseChatModel, name: str, log: TextIO | None = None) -> None:
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
        began, raw = time.time(), await request.body()
        try:
            body = _Body.model_validate_json(raw)
            messages = convert_to_messages(body.messages)
        except ValidationError as error:
            first = error.errors()[0]
            return _refuse(first["msg"], ".".join(str(part) for part in first["loc"]))
        except (ValueError, TypeError, KeyError) as error:
            return _refuse(f"messages cannot be read: {error}", "messages")
        reply = await self._model.ainvoke(messages)
        self._write_log(role_of(messages), raw, began)
        head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(began), "model": body.model}
        if body.stream:
            return StreamingResponse(_events(head, body, reply), media_type="text/event-stream")
        choice = {"index": 0, "message": _message(body, reply), "finish_reason": _finish_reason(body)}
        return JSONResponse({**head, "object": "chat.completion", "choices": [choice], "usage": _usage(reply)})

    def _write_log(self, role: str, raw: bytes, began: float) -> None:
        if self._log:
            now, digest = time.time(), hashlib.sha256(raw).hexdigest()
            line = {"role": role, "sha256": digest, "time": round(now, 6), "seconds": round(now - began, 6)}
            self._log.write(json.dumps(line) + "\n")
            self._log.flush()


def _events(head: dict[str, Any], body: _Body, reply: AIMessage) -> Iterator[str]:
    """Write the reply as server-sent events; its usage comes last, where it was asked for."""
    message = _message(body, reply)
    deltas: list[tuple[JsonValue, str | None]] = [
        ({"role": "assistant"}, None),
        ({name: value for name, value in message.items() if value is not None and name != "role"}, None),
        ({}, _finish_reason(body)),
    ]
    frame = {**head, "object": "chat.completion.chunk"}
    frames = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    if body.stream_options and body.stream_options.include_usage:
        frames.append({**frame, "choices": [], "usage": _usage(reply)})
    yield from (f"data: {json.dumps(each)}\n\n" for each in frames)
    yield "data: [DONE]\n\n"


def _message(body: _Body, reply: AIMessage) -> dict[str, JsonValue]:
    if not body.forced_tool:
        return {"role": "assistant", "content": reply.text}
    function: JsonValue = {"name": body.forced_tool, "arguments": reply.text}
    call: JsonValue = {"index": 0, "id": f"call_{uuid.uuid4().hex}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _finish_reason(body: _Body) -> str:
    return "tool_calls" if body.forced_tool else "stop"


def _usage(reply: AIMessage) -> dict[str, int]:
    usage = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": "total_tokens"}
    return {name: usage[key] for name, key in names.items()}


def _refuse(message: str, param: str) -> Response:
    problem = {"message": message, "type": "invalid_request_error", "param": param or None, "code": None}
    return JSONResponse({"error": problem}, status_code=400)
