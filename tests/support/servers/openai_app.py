"""The endpoints of the OpenAI-compatible server: check, call the model, apply the fault, answer."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Coroutine, Set
from dataclasses import dataclass, field
from typing import TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from pydantic import JsonValue, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from support.servers.chat_reply import as_tool_call, completion, cut_to, events, reply_of
from support.servers.chat_request import ChatRequest, Mode, Problem, request_problem
from support.servers.faults import BrokenBody, ChangedReply, Drop, ErrorStatus, Reply, Slow
from support.servers.responses import BreakOff, DroppedResponse, error_status, refused
from support.servers.scripted_model import role_of
from support.servers.toy_completions import Flavour, answer_completion, answer_tokenize
from support.servers.traffic import RecordedRequest, Traffic

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Options:
    """What the server offers."""

    api_key: str | None = None
    rejects: Set[Mode] = frozenset[Mode]()
    ignores: Set[Mode] = frozenset[Mode]()
    models: tuple[str, ...] = ()
    latency: float = 0.0
    reports_usage: bool = True
    completions: Flavour | None = None


@dataclass(frozen=True)
class _Call:
    """A chat request that passed every check."""

    request: ChatRequest
    messages: list[BaseMessage]
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))


class OpenAIApp:
    """The ASGI application around one LangChain chat model."""

    def __init__(self, model: BaseChatModel, options: Options, traffic: Traffic, break_off: BreakOff) -> None:
        self._model = model
        self._options = options
        self._traffic = traffic
        self._break_off = break_off
        self.asgi = Starlette(
            routes=[
                Route("/v1/models", self.list_models, methods=["GET"]),
                Route("/v1/chat/completions", self.complete, methods=["POST"]),
                *([Route("/v1/completions", self.complete_text, methods=["POST"])] if options.completions else []),
                *(
                    [Route("/tokenize", self.complete_text, methods=["POST"])]
                    if options.completions == "llama.cpp"
                    else []
                ),
                Route("/{path:path}", self.unknown, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
            ]
        )

    async def list_models(self, request: Request) -> Response:
        """Answer `GET /v1/models`."""
        record, _ = await self._arrival(request)
        if not record.key_ok:
            return refused(self._wrong_key(request))
        names = self._options.models or ("any-model",)
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in names]
        return JSONResponse({"object": "list", "data": listed})

    async def unknown(self, request: Request) -> Response:
        """Answer every other path."""
        await self._arrival(request)
        return refused(Problem(404, f"unknown URL: {request.method} {request.url.path}", code="unknown_url"))

    async def complete(self, request: Request) -> Response:
        """Answer `POST /v1/chat/completions`."""
        with self._traffic.in_flight():
            record, messages = await self._arrival(request)
            if not record.key_ok:
                return refused(self._wrong_key(request))
            fault = self._traffic.take_fault(record)
            if isinstance(fault, ErrorStatus):
                return error_status(fault)
            call = self._checked(record.body, messages)
            if isinstance(call, Problem):
                return refused(call)
            if isinstance(fault, BrokenBody):
                return Response(fault.body, media_type=_media_type(call))
            if isinstance(fault, Drop) and fault.before != "end":
                return DroppedResponse(b" ", fault, self._break_off, streamed=call.request.stream)
            wait = self._options.latency + (fault.seconds if isinstance(fault, Slow) else 0.0)
            reply = await self._ask_model(request, call, wait)
            if isinstance(reply, Response):
                return reply
            if isinstance(fault, ChangedReply):
                reply = fault.change(reply)
            return self._answer(call, cut_to(reply, call.request.limit), fault if isinstance(fault, Drop) else None)

    async def complete_text(self, request: Request) -> Response:
        """Answer `POST /v1/completions`, or llama.cpp's `/tokenize`, by a tiny model; no fault changes a reply."""
        with self._traffic.in_flight():
            record, _ = await self._arrival(request)
            if not record.key_ok:
                return refused(self._wrong_key(request))
            fault = self._traffic.take_fault(record)
            if isinstance(fault, ErrorStatus):
                return error_status(fault)
            if isinstance(fault, BrokenBody):
                return Response(fault.body, media_type="application/json")
            if isinstance(fault, Drop):
                return DroppedResponse(b" ", fault, self._break_off, streamed=False)
            wait = self._options.latency + (fault.seconds if isinstance(fault, Slow) else 0.0)
            if (await _unless_gone(request, asyncio.sleep(wait))).cancelled():
                return Response(status_code=499)
            assert self._options.completions
            tokenized = request.url.path == "/tokenize"
            body = (
                answer_tokenize(record.body) if tokenized else answer_completion(record.body, self._options.completions)
            )
            return refused(body) if isinstance(body, Problem) else JSONResponse(body)

    async def _arrival(self, request: Request) -> tuple[RecordedRequest, list[BaseMessage]]:
        started = time.monotonic()
        body = _parsed(await request.body())
        messages = _messages(body)
        headers = {name: value for name, value in request.headers.items() if name != "authorization"}
        key = self._options.api_key
        record = RecordedRequest(
            method=request.method,
            path=request.url.path,
            headers=headers,
            key_ok=key is None or _bearer(request) == key,
            body=body,
            role=role_of(messages),
            at=started,
        )
        self._traffic.record(record)
        return record, messages

    def _wrong_key(self, request: Request) -> Problem:
        """Refuse a key as OpenAI does, with the key in the message, which clients must not pass on."""
        given = _bearer(request)
        message = f"incorrect API key provided: {given}" if given else "no API key provided"
        return Problem(401, message, code="invalid_api_key")

    def _checked(self, body: JsonValue, messages: list[BaseMessage]) -> _Call | Problem:
        try:
            request = ChatRequest.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            return Problem(400, first["msg"], param=".".join(str(part) for part in first["loc"]) or None)
        if not messages:
            return Problem(400, "messages cannot be read", param="messages")
        if self._options.models and request.model not in self._options.models:
            return Problem(404, f"model {request.model!r} does not exist", code="model_not_found")
        return request_problem(request, self._options.rejects, messages) or _Call(request, messages)

    async def _ask_model(self, request: Request, call: _Call, wait: float) -> Reply | Response:
        """Call the model; a disconnect cancels the call, as on a real server."""

        async def answer() -> AIMessage:
            await asyncio.sleep(wait)
            await self._traffic.wait_to_pass()
            stop = [call.request.stop] if isinstance(call.request.stop, str) else call.request.stop
            return await self._model.ainvoke(call.messages, stop=stop)

        task = await _unless_gone(request, answer())
        if task.cancelled():
            return Response(status_code=499)
        if error := task.exception():
            self._traffic.model_failed(error)
            return refused(Problem(500, f"{type(error).__name__}: {error}", type="server_error"))
        return reply_of(task.result(), call.messages)

    def _answer(self, call: _Call, reply: Reply, drop: Drop | None) -> Response:
        asked = call.request
        if asked.forced_tool and "tools" not in self._options.ignores:
            reply = as_tool_call(reply, asked.forced_tool)
        reports = self._options.reports_usage
        if asked.stream:
            usage = reports and asked.stream_options.include_usage
            parts = [*events(reply, identity=call.identity, model=asked.model, created=call.created, usage=usage)]
        else:
            parts = [completion(reply, identity=call.identity, model=asked.model, created=call.created, usage=reports)]
        if drop:
            return DroppedResponse(b"".join(parts), drop, self._break_off, streamed=asked.stream)
        if asked.stream:
            return StreamingResponse(_sent_one_by_one(parts), media_type=_media_type(call))
        return Response(parts[0], media_type=_media_type(call))


async def _unless_gone(request: Request, work: Coroutine[None, None, ResultT]) -> asyncio.Task[ResultT]:
    """Run `work`, or cancel it if the client disconnects; return the finished task."""
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_hung_up(request))
    await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
    for pending in (task, gone):
        pending.cancel()
    await asyncio.wait({task, gone})
    return task


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _sent_one_by_one(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
        await asyncio.sleep(0)


def _parsed(raw: bytes) -> JsonValue:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _messages(body: JsonValue) -> list[BaseMessage]:
    """Convert OpenAI's messages; return an empty list if they are invalid."""
    listed = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(listed, list):
        return []
    try:
        return convert_to_messages([message for message in listed if isinstance(message, dict)])
    except (ValueError, TypeError, KeyError):
        return []


def _bearer(request: Request) -> str:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key if scheme.lower() == "bearer" else ""


def _media_type(call: _Call) -> str:
    return "text/event-stream" if call.request.stream else "application/json"
