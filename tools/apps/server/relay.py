"""Running a turn in a task of its own, so that its reader can wait, be slow, or disconnect."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from hopgraph.tools.apps.server.turn import TurnStep

ResultT = TypeVar("ResultT")
IDLE_SECONDS = 15.0
"""After so long without a step a stream sends a comment, or a proxy would close it."""


@asynccontextmanager
async def run_in_task(
    steps: AsyncGenerator[TurnStep], seconds: float
) -> AsyncGenerator[tuple[asyncio.Task[None], asyncio.Queue[TurnStep | None]]]:
    """Run a turn in a task of its own; leaving the block cancels it.

    The turn does not wait for its reader, so that a slow reader does not occupy a slot.

    Args:
        steps: the turn.
        seconds: how long it may take; then the task fails with a TimeoutError.

    Yields:
        The task, and the queue in which its steps arrive: None comes after the last, however it ended.
    """
    arrived = asyncio.Queue[TurnStep | None]()

    async def run() -> None:
        async with asyncio.timeout(seconds), aclosing(steps):
            async for step in steps:
                arrived.put_nowait(step)

    task = asyncio.create_task(run())
    task.add_done_callback(lambda _: arrived.put_nowait(None))
    try:
        yield task, arrived
    finally:
        task.cancel()
        await asyncio.wait([task])


async def relay_steps(
    steps: AsyncGenerator[TurnStep], seconds: float, idle: float | None = None
) -> AsyncGenerator[TurnStep | None]:
    """Yield the steps of a turn as they happen; closing the generator cancels the turn.

    Args:
        steps: the turn.
        seconds: how long it may take.
        idle: after so long without a step None is yielded instead; None: never.

    Raises:
        TimeoutError: the turn takes longer than it may. And whatever the turn raises.
    """
    async with run_in_task(steps, seconds) as (turn, arrived):
        while True:
            try:
                async with asyncio.timeout(idle):
                    step = await arrived.get()
            except TimeoutError:
                yield None
                continue
            if step is None:
                break
            yield step
        await turn


async def while_connected(request: Request, work: Coroutine[Any, Any, ResultT]) -> ResultT | None:
    """Do some work for a client; it is cancelled, and None returned, when the client disconnects.

    Raises:
        Whatever the work raises.
    """

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


class EventStream(StreamingResponse):
    """A stream of server-sent events; however it ends, the generator of the events is closed."""

    def __init__(self, events: AsyncGenerator[str]) -> None:
        """Send the events as they are; each ends with its blank line."""
        super().__init__(
            events, media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        self._events = events

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)
