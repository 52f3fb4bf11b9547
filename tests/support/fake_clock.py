"""A clock for budgets with a deadline that advances only when a test says so."""

import asyncio
import time
from types import TracebackType

import pytest

NEVER = 100_000.0
"""Seconds that no test waits for: what takes so long must be cancelled."""


class FakeClock:
    """Replace `time.time`, `time.perf_counter` and `asyncio.timeout`, by which a run measures its deadline."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stop the clock."""
        self.now = time.time()
        self._pending: list[_Timeout] = []
        self._real_timeout = asyncio.timeout
        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(asyncio, "timeout", self._timeout)

    def run_out(self) -> float:
        """Advance to the next pending timeout; return a number of seconds to wait that only the timeout ends."""
        self.now = min(each.end for each in self._pending)
        for each in self._pending:
            if each.end <= self.now:
                each.expire()
        return NEVER

    def _timeout(self, delay: float | None) -> "_Timeout":
        end = float("inf") if delay is None else self.now + delay
        return _Timeout(end, self._pending, self._real_timeout(None), at_once=end <= self.now)


class _Timeout:
    """An `asyncio.Timeout` that expires by the fake clock."""

    def __init__(self, end: float, pending: list["_Timeout"], real: asyncio.Timeout, *, at_once: bool) -> None:
        self.end, self._pending, self._real, self._at_once = end, pending, real, at_once

    async def __aenter__(self) -> "_Timeout":
        await self._real.__aenter__()
        self._pending.append(self)
        if self._at_once:
            self.expire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._pending.remove(self)
        return await self._real.__aexit__(kind, error, trace)

    def expire(self) -> None:
        if not self._real.expired():
            self._real.reschedule(asyncio.get_running_loop().time())

    def expired(self) -> bool:
        return self._real.expired()
