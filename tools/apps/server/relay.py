"""Running a turn in its own task, independent of its reader, who may be slow or disconnect."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from hopgraph.tools.apps.server.refusal import CLIENT_LEFT
from hopgraph.tools.apps.server.turn import TurnStep

ResultT = TypeVar("ResultT")
KEEP_ALIVE = ": working\n\n"  # a comment of server-sent events
_IDLE_SECONDS = 15.0  # proxies close streams that are idle for longer


async def relay_steps(
    steps: AsyncGenerator[TurnStep], seconds: float, idle: float = _IDLE_SECONDS
) -> AsyncGenerator[TurnStep | None]:
    """Yield the steps of a turn as they happen, and None when idle, the first time after `idle` seconds.

    The turn runs in its own task, so that a slow reader does not occupy a slot; closing the generator cancels it. Its
    errors, or a TimeoutError after `seconds`, are raised after its last step.
    """
    arrived = asyncio.Queue[TurnStep | None]()

    async def run() -> None:
        async with asyncio.timeout(seconds), aclosing(steps):
            async for step in steps:
                arrived.put_nowait(step)

    turn = asyncio.create_task(run())
    turn.add_done_callback(lambda _: arrived.put_nowait(None))
    try:
        while True:
            try:
                async with asyncio.timeout(idle):
                    step = await arrived.get()
            except TimeoutError:
                idle = _IDLE_SECONDS
                yield None
                continue
            if step is None:
                break
            yield step
        await turn
    finally:
        turn.cancel()
        await asyncio.wait([turn])


async def while_connected(request: Request, work: Coroutine[Any, Any, ResultT]) -> ResultT | None:
    """Return the result of some work; if the client disconnects, cancel it and return None."""

    async def disconnected() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, leaving = asyncio.create_task(work), asyncio.create_task(disconnected())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait({working, leaving})


async def stream_events(
    request: Request, events: AsyncGenerator[str], describe_failure: Callable[[Exception], str], last: str = ""
) -> Response:
    """Stream server-sent events, each ending in a blank line, and `last`; the generator is always closed.

    An error before the first event is raised, so that the response can have its status; a later one is sent as the
    event returned by `describe_failure`.
    """
    first = await while_connected(request, anext(events))
    if first is None:
        await events.aclose()
        return Response(status_code=CLIENT_LEFT)

    async def send_on() -> AsyncGenerator[str]:
        yield first
        try:
            async for event in events:
                yield event
        except Exception as error:  # noqa: BLE001 - `describe_failure` logs unexpected ones
            yield describe_failure(error)
        yield last

    return _EventStream(send_on(), events)


class _EventStream(StreamingResponse):
    def __init__(self, content: AsyncGenerator[str], events: AsyncGenerator[str]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(content, media_type="text/event-stream", headers=headers)
        self._content, self._events = content, events

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events), aclosing(self._content):
            await super().__call__(scope, receive, send)
