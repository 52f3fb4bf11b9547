"""The methods as models of an endpoint that clients of OpenAI's API speak: `/v1/models`, `/v1/chat/completions`.

Nothing is stored between requests: a client sends its conversation each time, and the last message is answered. The
model's name is a method's, or `auto`. The steps go out as `reasoning_content`, in words; the citations as
`annotations`; and what was found, as a record, in the field `hopgraph`. A request may have a field `hopgraph`, too,
with settings of the method. With `answer_type` sentence the answer is streamed while it is written, and system messages
say how: they are its `answer_style`. Otherwise these are accepted and ignored, as are parameters of language models
(`temperature`, `max_tokens`, tools).
"""

import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from langchain_core.messages import AIMessage

from hopgraph.nodes.finish import total
from hopgraph.state import HopgraphError, ModelError, QuestionError, SettingsError, SpecError
from hopgraph.state.events import PassagesGiven, QuerySent, Retrieved, Retrying, Routed
from hopgraph.tools.apps.runs.narration import Narrator
from hopgraph.tools.apps.server.openai_api.completions import (
    CompletionRequest,
    CompletionWriter,
    RequestError,
    read_request,
    task_reply,
    write_reasoning,
)
from hopgraph.tools.apps.server.refusal import BusyError, QuotaError, Refusal
from hopgraph.tools.apps.server.relay import CLIENT_LEFT, KEEP_ALIVE, relay_steps, stream_events, while_connected
from hopgraph.tools.apps.server.server_options import OWNER
from hopgraph.tools.apps.server.service import Service, UnknownMethodError, model_names, resolve_name
from hopgraph.tools.apps.server.turn import PassagesRead, TurnEnd, TurnStep, WrittenText, error_line

OPENAI_PATH = "/v1"

_STARTED = int(time.time())
_DONE = "data: [DONE]\n\n"
_STATUS_WAITS = 1.0
"""Seconds for which a stream waits for a model that fails at once; its reader sees steps no later than that."""
_EARLY = frozenset(each.event for each in (Routed, QuerySent, Retrieved, PassagesGiven, Retrying))
"""Events of steps that need no reply of a model: a stream does not begin with them alone."""

_PLACE = "/paths/~1v1~1chat~1completions/post/requestBody/content/application~1json/schema"
_SCHEMA = CompletionRequest.model_json_schema(ref_template=f"#{_PLACE}/$defs/{{model}}")
_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": _SCHEMA}}}}
"""Of the OpenAPI description; the body is read by `read_request`, whose errors have OpenAI's form."""

router = APIRouter(prefix=OPENAI_PATH)
"""The endpoints; `app.state.service` is the open service."""

Steps = AsyncGenerator[TurnStep | None]


@router.get("/models")
async def list_models() -> Response:
    """List what can be named as a model."""
    return JSONResponse({"object": "list", "data": [_model(name) for name in model_names()]})


@router.get("/models/{name}")
async def show_model(name: str) -> Response:
    """Show one model."""
    try:
        return JSONResponse(_model(resolve_name(name)))
    except UnknownMethodError as error:
        return _respond(error, 0)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _STARTED, "owned_by": "hopgraph"}


@router.post("/chat/completions", openapi_extra=_BODY)
async def complete(request: Request) -> Response:
    """Answer the last message of a conversation."""
    service: Service = request.app.state.service
    seconds = service.options.turn_seconds
    user = request.scope.get("state", {}).get("user", OWNER)
    try:
        asked = read_request(await request.body())
        settings = service.settings(asked.model, {**asked.style(), **asked.hopgraph})
        writer, messages = CompletionWriter(resolve_name(asked.model)), asked.conversation()
        if task := task_reply(messages[-1].text):
            steps = _only_reply(task)
        else:
            steps = relay_steps(service.answer_messages(messages, settings, user), seconds, _STATUS_WAITS)
        if asked.stream:
            chunks = _chunks(asked, writer, steps)
            return await stream_events(request, chunks, lambda error: _event(_refusal(error, seconds).body()), _DONE)
        answer = await while_connected(request, _whole(writer, steps))
    except (HopgraphError, TimeoutError) as error:
        return _respond(error, seconds)
    return JSONResponse(answer) if answer else Response(status_code=CLIENT_LEFT)


async def _only_reply(text: str) -> Steps:
    """Yield the end of a turn that only says something, without running any."""
    nothing: dict[str, Any] = {"answer": "", "explanation": "", "citations": [], "stop_reason": None, "chosen": None}
    yield TurnEnd({**nothing, "usage": total([], iterations=0), "messages": [AIMessage(text)]})


async def _whole(writer: CompletionWriter, steps: Steps) -> Mapping[str, Any]:
    narrator, written = Narrator(), ""
    async with aclosing(steps):
        async for step in steps:
            written += write_reasoning(step, narrator) if step else ""
            if isinstance(step, TurnEnd):
                return writer.whole(step, written)
    raise AssertionError("a turn gave no end")


async def _chunks(asked: CompletionRequest, writer: CompletionWriter, steps: Steps) -> AsyncGenerator[str]:
    """Run a turn and write its chunks; none before a model has replied, so that the status tells an earlier failure.

    A second without a step ends the wait, too.
    """
    narrator, started, written = Narrator(), False, ""
    chunks = [_event(writer.chunk({"role": "assistant", "content": ""}))]
    async with aclosing(steps):
        async for step in steps:
            if step is None:
                chunks.append(KEEP_ALIVE)
            elif isinstance(step, WrittenText):
                written += step.text
                chunks.append(_event(writer.chunk({"content": step.text})))
            elif text := write_reasoning(step, narrator):
                chunks.append(_event(writer.chunk({"reasoning_content": text})))
            if isinstance(step, TurnEnd):
                with_usage = bool(asked.stream_options and asked.stream_options.include_usage)
                chunks += map(_event, writer.last_chunks(step, written, include_usage=with_usage))
            if started := started or not _is_early(step):
                for chunk in chunks:
                    yield chunk
                chunks.clear()


def _is_early(step: TurnStep | None) -> bool:
    """Whether a step may come before the first reply of a model; a keep-alive must not wait for one."""
    if step is None or isinstance(step, TurnEnd | WrittenText):
        return False
    return isinstance(step, PassagesRead) or step["event"] in _EARLY


def _event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _respond(error: Exception, seconds: float) -> JSONResponse:
    refusal = _refusal(error, seconds)
    # The run has retried already wherever that helps; OpenAI's clients would run it twice more.
    headers = {"Retry-After": "1"} if isinstance(error, BusyError) else {}
    if refusal.status >= 500 or isinstance(error, QuotaError):
        headers = {"x-should-retry": "false"}
    return JSONResponse(refusal.body(), refusal.status, headers)


def _refusal(error: Exception, seconds: float) -> Refusal:
    """Classify the error of a turn that may take so many `seconds`."""
    line = error_line(error, seconds)
    match error:
        case TimeoutError():
            return Refusal(504, line)
        case RequestError():
            return Refusal(400, line, param=error.param or None)
        case UnknownMethodError():
            return Refusal(404, line, "model_not_found", param="model")
        case QuotaError():
            return Refusal(429, line, "insufficient_quota")
        case BusyError():
            return Refusal(429, line, "rate_limit_exceeded")
        case ModelError():
            return Refusal(502, line, "model_failed")
        case SettingsError() if isinstance(error, QuestionError) or not isinstance(error, SpecError):
            return Refusal(400, line)
        case _:
            return Refusal(500, line)
