"""A limit to how much runs at a time, counted over all event loops and threads of the process."""

import asyncio
import threading
from collections import deque


class SharedLimit:
    """An `asyncio.Semaphore` whose holders and waiters may be on any event loop; first come, first served."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting = deque[asyncio.Future[None]]()
        self._lock = threading.Lock()

    def locked(self) -> bool:
        """Whether who comes now has to wait."""
        return not self._free

    async def __aenter__(self) -> None:
        """Wait for a place."""
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
        """Give the place to who waits longest."""
        self._release()

    def _release(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                turn = self._waiting.popleft()
            try:
                turn.get_loop().call_soon_threadsafe(_grant, turn)
            except RuntimeError:  # that loop was closed
                continue
            return


def _grant(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # else it was cancelled meanwhile, and passes its place on
        turn.set_result(None)
