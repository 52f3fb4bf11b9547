"""The cache of replies, where two ask for the same at once."""

import asyncio
import time
from pathlib import Path

import pytest

from hopgraph.tools.models.reply_cache import cached_reply


async def test_whoever_waits_for_a_reply_that_fails_asks_anew(tmp_path: Path) -> None:
    asked, folder = asyncio.Event(), str(tmp_path)

    async def failing() -> None:
        async with cached_reply(folder, "0" * 64) as kept:
            assert kept is None
            asked.set()
            await asyncio.sleep(0.05)
            raise ZeroDivisionError

    async def first() -> None:
        with pytest.raises(ZeroDivisionError):
            await failing()

    async def second() -> tuple[float, object]:
        await asked.wait()
        began = time.monotonic()
        async with cached_reply(folder, "0" * 64) as kept:
            return time.monotonic() - began, kept

    _, (waited, kept) = await asyncio.gather(first(), second())
    assert waited >= 0.04
    assert kept is None
