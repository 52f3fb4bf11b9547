"""How many turns are under way at once, and which are refused."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from hopgraph.state import HopgraphError

_ANSWERED = "this thread is still being answered; wait for its reply, or stop it"


class BusyError(HopgraphError, RuntimeError):
    """More is asked than the app does at once; to be tried again (HTTP 429)."""


class Admission:
    """Lets a number of turns run, a number of others wait, and refuses the rest; one turn of a thread at a time."""

    def __init__(self, running: int, waiting: int) -> None:
        """Take `running` turns at once, and let `waiting` others wait."""
        self._places = asyncio.Semaphore(running)
        self._most = running + waiting
        self._inside = 0
        self._threads = set[str]()

    @property
    def inside(self) -> int:
        """How many turns run or wait."""
        return self._inside

    def holds(self, thread: str) -> bool:
        """Whether a turn of a thread runs or waits, or the thread is being worked on otherwise."""
        return thread in self._threads

    @contextmanager
    def alone(self, thread: str) -> Generator[None]:
        """Keep turns away from a thread for the while; takes none of the places.

        Raises:
            BusyError: the thread is being answered.
        """
        if thread in self._threads:
            raise BusyError(_ANSWERED)
        self._threads.add(thread)
        try:
            yield
        finally:
            self._threads.discard(thread)

    @asynccontextmanager
    async def place(self, thread: str = "") -> AsyncGenerator[None]:
        """Hold a place for a turn.

        Args:
            thread: the thread's key; empty for a turn that keeps none.

        Raises:
            BusyError: too many are waiting already, or the thread's last turn has not ended.
        """
        if thread in self._threads:
            raise BusyError(_ANSWERED)
        if self._inside >= self._most:
            raise BusyError(f"{self._inside} questions are being answered or are waiting; try again in a moment")
        self._inside += 1
        if thread:
            self._threads.add(thread)
        try:
            async with self._places:
                yield
        finally:
            self._inside -= 1
            self._threads.discard(thread)
