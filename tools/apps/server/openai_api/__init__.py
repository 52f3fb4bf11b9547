"""The methods as models of an endpoint that clients of OpenAI's API speak: `/v1/models`, `/v1/chat/completions`.

Nothing is stored between requests: a client sends its conversation each time, and the last message is answered. The
model's name is a method's, or `auto`. The steps go out as `reasoning_content`, in words; the citations as
`annotations`; and what was found, as a record, in the field `hopgraph`. A request may have a field `hopgraph`, too,
with settings of the method. Parameters of language models (`temperature`, `max_tokens`, system messages, tools) are
accepted and ignored.
"""

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from langchain_core.messages import AIMessage

from hopgraph.nodes.finish import total
from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.openai_api.api_errors import UnknownModelError, problem_of
from hopgraph.tools.apps.server.openai_api.client_tasks import task_reply
from hopgraph.tools.apps.server.openai_api.completion_request import CompletionRequest, read_request
from hopgraph.tools.apps.server.openai_api.completion_writer import CompletionWriter, ReasoningWriter
from hopgraph.tools.apps.server.relay import IDLE_SECONDS, EventStream, relay_steps, while_connected
from hopgraph.tools.apps.server.service import MODEL_NAMES, Service, resolve_alias
from hopgraph.tools.apps.server.turn import TurnEnd, TurnStep

OPENAI_PATH = "/v1"

_KEEP_ALIVE = ": working\n\n"
_DONE = "data: [DONE]\n\n"
_CLIENT_LEFT = 499
"""For the log; the client does not read it."""

Steps = AsyncGenerator[TurnStep | None]


def openai_routes(service: Callable[[Request], Service]) -> APIRouter:
    """Create the endpoints; `service` finds the open service of a request."""
    router = APIRouter(prefix=OPENAI_PATH)
    began = int(time.time())

    @router.get("/models")
    async def list_models() -> Response:
        """List what can be named as a model."""
        return JSONResponse({"object": "list", "data": [_model(name, began) for name in MODEL_NAMES]})

    @router.get("/models/{name}")
    async def show_model(name: str) -> Response:
        """Show one model."""
        if resolve_alias(name) not in MODEL_NAMES:
            return problem_of(_unknown(name), 0).response()
        return JSONResponse(_model(resolve_alias(name), began))

    @router.post("/chat/completions")
    async def complete(request: Request) -> Response:
        """Answer the last message of a conversation."""
        return await _complete(request, service(request))

    return router


def _model(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": "hopgraph"}


def _unknown(name: str) -> UnknownModelError:
    return UnknownModelError(f"the model {name!r:.80} does not exist; there are: {', '.join(MODEL_NAMES)}")


async def _complete(request: Request, service: Service) -> Response:
    seconds = service.options.turn_seconds
    try:
        asked = read_request(await request.body())
        model = resolve_alias(asked.model)
        if model not in MODEL_NAMES:
            raise _unknown(asked.model)
        writer = CompletionWriter(model)
        settings = service.settings(model, asked.settings)
        if task := task_reply(asked.messages[-1].text):
            steps = _only_reply(task)
        else:
            steps = relay_steps(service.answer_messages(asked.messages, settings), seconds, IDLE_SECONDS)
        if asked.stream:
            chunks = _chunks(asked, writer, steps)
            # A turn that cannot start is refused by the status of the reply, which must be known before its body.
            first = await while_connected(request, anext(chunks))
            if first is None:
                await chunks.aclose()
                return Response(status_code=_CLIENT_LEFT)
            return EventStream(_with_end(first, chunks, seconds))
        answer = await while_connected(request, _whole(writer, steps))
    except (HopgraphError, TimeoutError) as error:
        return problem_of(error, seconds).response()
    return JSONResponse(answer) if answer else Response(status_code=_CLIENT_LEFT)


async def _only_reply(text: str) -> Steps:
    """Yield the end of a turn that only says something, without running any."""
    nothing: dict[str, Any] = {"answer": "", "explanation": "", "citations": [], "stop_reason": None, "chosen": None}
    yield TurnEnd({**nothing, "usage": total([], iterations=0), "messages": [AIMessage(text)]})


async def _whole(writer: CompletionWriter, steps: Steps) -> Mapping[str, Any]:
    """Run a turn to its end and write the completion.

    Raises:
        HopgraphError: it cannot start, or fails. TimeoutError: it takes longer than a turn may.
    """
    reasoning = ReasoningWriter()
    written = ""
    async with aclosing(steps):
        async for step in steps:
            written += reasoning.write(step) if step else ""
            if isinstance(step, TurnEnd):
                return writer.whole(step, written)
    raise AssertionError("a turn gave no end")


async def _chunks(asked: CompletionRequest, writer: CompletionWriter, steps: Steps) -> AsyncGenerator[str]:
    """Run a turn and write its chunks; the first comes when it has started.

    Raises:
        HopgraphError: it cannot start, or fails. TimeoutError: it takes longer than a turn may.
    """
    reasoning, started = ReasoningWriter(), False
    async with aclosing(steps):
        async for step in steps:
            if not started:
                started = True
                yield _event(writer.chunk({"role": "assistant", "content": ""}))
            if step is None:
                yield _KEEP_ALIVE
            elif text := reasoning.write(step):
                yield _event(writer.chunk({"reasoning_content": text}))
            if isinstance(step, TurnEnd):
                for chunk in writer.last_chunks(step, include_usage=asked.include_usage):
                    yield _event(chunk)


async def _with_end(first: str, chunks: AsyncGenerator[str], seconds: float) -> AsyncGenerator[str]:
    """Send chunks; a turn that fails after the first ends with an event that says so."""
    async with aclosing(chunks):
        yield first
        try:
            async for chunk in chunks:
                yield chunk
        except (HopgraphError, TimeoutError) as error:
            yield _event(problem_of(error, seconds).body())
    yield _DONE


def _event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
