"""Waiting for other processes or threads, with a timeout for busy machines."""

import asyncio
import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds after which something hangs; nothing that works takes nearly as long, on any machine."""


def wait_until(condition: Callable[[], object]) -> None:
    """Return when the condition holds.

    Raises:
        AssertionError: it does not after PATIENCE.
    """
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


async def until(condition: Callable[[], object]) -> None:
    """Return when the condition holds, without blocking the event loop.

    Raises:
        TimeoutError: it does not after PATIENCE.
    """
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - nothing tells when it does
            await asyncio.sleep(0.01)
