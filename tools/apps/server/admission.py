"""How many turns run at once, and which are refused."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext

from hopgraph.state import HopgraphError


class BusyError(HopgraphError, RuntimeError):
    """More is asked than the app does at once; to be tried again (HTTP 429)."""


class Admission:
    """Lets a number of turns run and a number of others wait, and refuses the rest; one turn at a time per thread."""

    def __init__(self, running: int, waiting: int) -> None:
        """Allow `running` turns at once and `waiting` others to wait."""
        self._slots = asyncio.Semaphore(running)
        self._limit = running + waiting
        self.active = 0
        """How many turns run or wait."""
        self._threads = set[str]()

    def is_busy(self, thread: str) -> bool:
        """Whether a turn of a thread runs or waits, or the thread is otherwise in use."""
        return thread in self._threads

    @contextmanager
    def exclusive(self, thread: str) -> Generator[None]:
        """Keep turns away from a thread meanwhile, without taking a slot; a BusyError while it is being answered."""
        if thread in self._threads:
            raise BusyError("this thread is still being answered; wait for its reply, or stop it")
        self._threads.add(thread)
        try:
            yield
        finally:
            self._threads.discard(thread)

    @asynccontextmanager
    async def reserve(self, thread: str = "") -> AsyncGenerator[None]:
        """Reserve a slot for a turn, on a thread unless its key is empty.

        Raises:
            BusyError: too many are waiting already, or the thread's last turn has not ended.
        """
        with self.exclusive(thread) if thread else nullcontext():
            if self.active >= self._limit:
                raise BusyError(f"{self.active} questions are being answered or are waiting; try again in a moment")
            self.active += 1
            try:
                async with self._slots:
                    yield
            finally:
                self.active -= 1
