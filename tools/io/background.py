"""One event loop of our own that never closes, and coroutines that run concurrently.

The sync side of every graph runs its nodes there, so that a node is written once, as a coroutine. And the clients of
models that were named by a spec have their connections there: one that is shared over the loops of several
`asyncio.run` calls fails with "Event loop is closed" sooner or later, and one per loop would reconnect in each.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")

_THREAD = "hopgraph-background"


@cache
def background_loop() -> asyncio.AbstractEventLoop:
    """Return the loop; started at the first call, ends with the process."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        while True:
            # asyncio lets these end the loop, too; the run whose step raised one still gets it.
            with suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()

    threading.Thread(target=run, name=_THREAD, daemon=True).start()
    return loop


@cache
def _threads(of: str, most: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(most, thread_name_prefix=f"hopgraph-{of}")


if hasattr(os, "register_at_fork"):
    # A forked child has the loop and the pools but not their threads; it starts new ones.
    os.register_at_fork(after_in_child=background_loop.cache_clear)
    os.register_at_fork(after_in_child=_threads.cache_clear)


LONG_TEXT = 200_000
"""Characters of text above which reading it once would hold up the event loop."""
LONG_SPLIT = 40_000
"""Characters of text above which splitting it into sentences would."""


async def maybe_to_thread(long: bool, work: Callable[..., ResultT], *args: Any) -> ResultT:
    """Run work in a thread if it is long; else on the event loop, as the way to a thread and back takes time, too."""
    return await asyncio.to_thread(work, *args) if long else work(*args)


async def in_search_thread(work: Callable[..., ResultT], *args: Any) -> ResultT:
    """Run blocking work of a retriever in its own thread pool.

    The loop's default threads may all be taken by a user's synchronous retrievers that wait for ours.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads("search", 32), work, *args)


async def run_user_code(work: Callable[..., ResultT], *args: Any, **options: Any) -> ResultT:
    """Run a caller's own blocking code in a thread that nothing else waits for: it may run a graph in its turn."""
    context = copy_context()

    def run() -> ResultT:
        try:
            return context.run(work, *args, **options)
        except StopIteration as error:  # which no future takes
            raise RuntimeError(f"{type(getattr(work, '__self__', work)).__name__} raised StopIteration") from error

    return await asyncio.get_running_loop().run_in_executor(_threads("caller", 10_000), run)


async def run_on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Await a coroutine on a loop, which may be another thread's; cancelling the caller cancels it."""
    if loop is asyncio.get_running_loop():
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def run_in_background(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a coroutine on the background loop and wait; an interrupted wait cancels it; RuntimeError on that loop."""
    loop = background_loop()
    if threading.current_thread().name == _THREAD:
        work.close()
        raise RuntimeError(
            "a sync method cannot be called inside a node of a graph that runs in sync code, as it would wait for "
            "itself; await ainvoke (of a graph or a retriever) instead"
        )
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def gather_or_cancel(work: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """Return the results of coroutines run concurrently, in order; if one fails, cancel the others, raise its error."""
    coroutines, tasks = list(work), list[asyncio.Task[ResultT]]()
    if len(coroutines) == 1:
        return [await coroutines[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks.extend(group.create_task(each) for each in coroutines)
    except BaseExceptionGroup:
        for task in tasks:
            if task.done() and not task.cancelled() and (error := task.exception()):
                raise error from None
        raise
    return [task.result() for task in tasks]


class SharedLimit:
    """An `asyncio.Semaphore` whose holders and waiters may be on any event loop; first come, first served."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting = deque[asyncio.Future[None]]()
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            with self._lock:
                granted = turn not in self._waiting
                if not granted:
                    self._waiting.remove(turn)
            if granted:
                self._release()
            raise

    async def __aexit__(self, *_error: object) -> None:
        self._release()

    def _release(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                turn = self._waiting.popleft()
            with suppress(RuntimeError):  # that loop was closed
                turn.get_loop().call_soon_threadsafe(_grant, turn)
                return


def _grant(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # else it was cancelled meanwhile, and passes its place on
        turn.set_result(None)
