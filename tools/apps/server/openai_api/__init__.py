"""The methods as models of an endpoint that clients of OpenAI's API speak: `/v1/models`, `/v1/chat/completions`.

Nothing is kept between requests: a client sends its conversation each time, and the last message is answered. The
model's name is a method's, or `auto`. The steps go out as `reasoning_content`, in words; the citations as
`annotations`; and what was found, as a record, in the field `hopgraph`. A request may have a field `hopgraph`, too,
with settings of the method. What a language model is told besides (`temperature`, `max_tokens`, system messages,
tools that it may call) is taken and ignored.
"""

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.openai_api.api_errors import UnknownModelError, problem_of
from hopgraph.tools.apps.server.openai_api.client_tasks import task_reply
from hopgraph.tools.apps.server.openai_api.completion_request import Wanted, read_request
from hopgraph.tools.apps.server.openai_api.completion_writer import Completion, Ended, Steps
from hopgraph.tools.apps.server.relay import IDLE_SECONDS, EventStream, relayed, while_connected
from hopgraph.tools.apps.server.service import OFFERED, Service, full_name
from hopgraph.tools.apps.server.turn import TurnEnd, TurnStep

OPENAI_PATH = "/v1"

_ALIVE = ": working\n\n"
_DONE = "data: [DONE]\n\n"
_CLIENT_LEFT = 499
"""For the log; nobody reads it."""


def openai_routes(service: Callable[[Request], Service]) -> APIRouter:
    """Make the endpoints.

    Args:
        service: finds the open service of a request.
    """
    router = APIRouter(prefix=OPENAI_PATH)
    began = int(time.time())

    @router.get("/models")
    async def list_models() -> Response:
        """List what can be named as a model."""
        return JSONResponse({"object": "list", "data": [_model(name, began) for name in OFFERED]})

    @router.get("/models/{name}")
    async def show_model(name: str) -> Response:
        """Show one model."""
        if full_name(name) not in OFFERED:
            return problem_of(_unknown(name), 0).response()
        return JSONResponse(_model(full_name(name), began))

    @router.post("/chat/completions")
    async def complete(request: Request) -> Response:
        """Answer the last message of a conversation."""
        return await _complete(request, service(request))

    return router


def _model(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": "hopgraph"}


def _unknown(name: str) -> UnknownModelError:
    return UnknownModelError(f"the model {name!r:.80} does not exist; there are: {', '.join(OFFERED)}")


async def _complete(request: Request, service: Service) -> Response:
    seconds = service.options.turn_seconds
    try:
        wanted = read_request(await request.body())
        model = full_name(wanted.model)
        if model not in OFFERED:
            raise _unknown(wanted.model)
        completion = Completion(model)
        settings = service.settings(model, wanted.settings)
        if said := task_reply(wanted.messages[-1].text):
            return _told(wanted, completion, Ended.said(said))
        steps = relayed(service.once(wanted.messages, settings), seconds, IDLE_SECONDS)
        if wanted.stream:
            chunks = _chunks(wanted, completion, steps)
            # A turn that cannot begin is refused by the status of the reply, which must be known before its body.
            first = await while_connected(request, anext(chunks))
            if first is None:
                await chunks.aclose()
                return Response(status_code=_CLIENT_LEFT)
            return EventStream(_encoded(first, chunks, seconds))
        answer = await while_connected(request, _whole(completion, steps))
    except (HopgraphError, TimeoutError) as error:
        return problem_of(error, seconds).response()
    return JSONResponse(answer) if answer else Response(status_code=_CLIENT_LEFT)


def _told(wanted: Wanted, completion: Completion, ended: Ended) -> Response:
    """Answer without a turn."""
    if not wanted.stream:
        return JSONResponse(completion.whole(ended, ""))

    async def chunks() -> AsyncGenerator[str]:
        yield _event(completion.chunk({"role": "assistant", "content": ""}))
        for chunk in completion.last_chunks(ended, include_usage=wanted.include_usage):
            yield _event(chunk)
        yield _DONE

    return EventStream(chunks())


async def _whole(completion: Completion, steps: AsyncGenerator[TurnStep | None]) -> Mapping[str, Any]:
    """Run a turn to its end and write the completion.

    Raises:
        HopgraphError: it cannot begin, or fails. TimeoutError: it takes longer than a turn may.
    """
    told, reasoning = Steps(), ""
    async with aclosing(steps):
        async for step in steps:
            reasoning += told.told(step) if step else ""
            if isinstance(step, TurnEnd):
                return completion.whole(Ended.of(step), reasoning)
    raise AssertionError("a turn gave no end")


async def _chunks(
    wanted: Wanted, completion: Completion, steps: AsyncGenerator[TurnStep | None]
) -> AsyncGenerator[str]:
    """Run a turn and write its chunks; the first comes when it has begun.

    Raises:
        HopgraphError: it cannot begin, or fails. TimeoutError: it takes longer than a turn may.
    """
    told, begun = Steps(), False
    async with aclosing(steps):
        async for step in steps:
            if not begun:
                begun = True
                yield _event(completion.chunk({"role": "assistant", "content": ""}))
            if step is None:
                yield _ALIVE
            elif reasoning := told.told(step):
                yield _event(completion.chunk({"reasoning_content": reasoning}))
            if isinstance(step, TurnEnd):
                for chunk in completion.last_chunks(Ended.of(step), include_usage=wanted.include_usage):
                    yield _event(chunk)


async def _encoded(first: str, chunks: AsyncGenerator[str], seconds: float) -> AsyncGenerator[str]:
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
