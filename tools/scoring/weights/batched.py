"""One loaded model for the whole process, run by one thread, with small requests joined into one batch."""

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
SharedT = TypeVar("SharedT")

MAX_JOINED = 64
"""Items up to which waiting requests are joined. More would only make the first of them wait longer."""


@dataclass(frozen=True)
class _Request(Generic[ItemT, ResultT]):
    items: Sequence[ItemT]
    future: "Future[list[ResultT]]" = field(default_factory=Future[Any])


class Batched(Generic[ItemT, ResultT]):
    """A function over a list of items, run in a thread of its own.

    Requests come from any thread and any event loop, and are answered in order. Those that wait while another
    one runs are joined, up to MAX_JOINED items, since a model takes a batch faster than its parts. Callers on an
    event loop are not blocked, and no thread of a shared pool waits.
    """

    def __init__(self, work: Callable[[list[ItemT]], Sequence[ResultT]], name: str = "model") -> None:
        """Start the thread.

        Args:
            work: returns one result per item, in order; the result for one item must not depend on the others.
            name: of the thread.
        """
        self._work = work
        self._waiting: queue.SimpleQueue[_Request[ItemT, ResultT]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name=f"hopgraph-{name}", daemon=True).start()

    def __call__(self, items: Sequence[ItemT]) -> list[ResultT]:
        """Process items and wait; from any thread that is not an event loop's.

        Returns:
            One result per item, in order; empty for none.
        """
        return self._submit(items).result() if items else []

    async def acall(self, items: Sequence[ItemT]) -> list[ResultT]:
        """Process items; a request that is cancelled before its turn costs nothing.

        Returns:
            One result per item, in order; empty for none.
        """
        return await asyncio.wrap_future(self._submit(items)) if items else []

    def _submit(self, items: Sequence[ItemT]) -> "Future[list[ResultT]]":
        request: _Request[ItemT, ResultT] = _Request(items)
        self._waiting.put(request)
        return request.future

    def _serve(self) -> None:
        held: _Request[ItemT, ResultT] | None = None
        while True:
            together = [held or self._waiting.get()]
            held = None
            while not self._waiting.empty():
                following = self._waiting.get()
                if sum(len(each.items) for each in together) + len(following.items) > MAX_JOINED:
                    held = following
                    break
                together.append(following)
            self._answer([each for each in together if each.future.set_running_or_notify_cancel()])

    def _answer(self, requests: list[_Request[ItemT, ResultT]]) -> None:
        if not requests:
            return
        try:
            results = list(self._work([item for each in requests for item in each.items]))
        except BaseException as error:  # noqa: BLE001 - raised again where the request came from
            for each in requests:
                each.future.set_exception(error)
            return
        first = 0
        for each in requests:
            each.future.set_result(results[first : first + len(each.items)])
            first += len(each.items)


_shared: dict[Hashable, Any] = {}
_making: dict[Hashable, threading.Lock] = {}
_registry = threading.Lock()


def shared(key: Hashable, make: Callable[[], SharedT]) -> SharedT:
    """Return the model for this key, made once even when many threads ask at the same time.

    Other keys do not wait meanwhile, and a failure is tried again at the next call. Takes as long as loading
    does, so it belongs in a thread.

    Args:
        key: kind, folder, device, precision and whatever else makes two models different.
        make: loads it.
    """
    with _registry:
        making = _making.setdefault(key, threading.Lock())
    with making:
        if key not in _shared:
            _shared[key] = make()
        return cast("SharedT", _shared[key])


def _reset_after_fork() -> None:
    """Start empty in a forked child, which has neither the threads nor the locks of its parent."""
    global _registry
    _shared.clear()
    _making.clear()
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
