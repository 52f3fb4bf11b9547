"""The cache of replies, where two ask for the same at once."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from hopgraph.tools.models import reply_cache
from hopgraph.tools.models.reply_cache import ModelReply, cached_reply, read_cache, trim_cache, write_cache


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


async def look_up(folder: str, key: str) -> ModelReply | None:
    async with cached_reply(folder, key) as kept:
        return kept


async def test_a_hundred_that_ask_for_the_same_at_once_pay_once(tmp_path: Path) -> None:
    paid: list[int] = []

    async def ask(number: int) -> None:
        async with cached_reply(str(tmp_path), "0" * 64) as kept:
            if kept is None:
                paid.append(number)
                await asyncio.sleep(0.01)
                write_cache(str(tmp_path), "0" * 64, "x/y", ModelReply("text"))

    await asyncio.gather(*map(ask, range(100)))
    assert len(paid) == 1


async def test_whoever_is_cancelled_while_waiting_leaves_it_to_others(tmp_path: Path) -> None:
    async with cached_reply(str(tmp_path), "0" * 64):
        waiting = asyncio.create_task(look_up(str(tmp_path), "0" * 64))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert await look_up(str(tmp_path), "0" * 64) is None


@pytest.mark.parametrize("damage", ["cut", "folder", "pipe"])
async def test_a_damaged_reply_is_asked_for_again(tmp_path: Path, damage: str) -> None:
    write_cache(str(tmp_path), "0" * 64, "x/y", ModelReply("text"))
    (file,) = tmp_path.rglob("*.json")
    content = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(content[:-3])
    elif damage == "folder":
        file.mkdir()
    else:
        os.mkfifo(file)
    assert read_cache(str(tmp_path), "0" * 64) is None
    if damage != "folder":
        write_cache(str(tmp_path), "0" * 64, "x/y", ModelReply("new"))
        assert read_cache(str(tmp_path), "0" * 64) == ModelReply("new")


def test_what_was_used_longest_ago_is_removed_and_nothing_of_others(tmp_path: Path) -> None:
    folders, keys = [tmp_path / "0", tmp_path / "1"], [digit * 64 for digit in "01234"]
    for age, key in enumerate(keys):
        for folder in folders:
            write_cache(str(folder), key, "x/y", ModelReply("text"))
            os.utime(folder / key[:2] / f"{key}.json", (1000 - age, 1000 - age))
    (tmp_path / "thesis.json").write_text("{}")
    (tmp_path / "0" / "44" / "thesis.json").write_text("{}")
    size = (tmp_path / "0" / "00" / f"{keys[0]}.json").stat().st_blocks * 512
    trim_cache(tmp_path, 10 * size)
    assert read_cache(str(folders[1]), keys[4]), "it was used last now"
    trim_cache(tmp_path, 5 * size)
    left = [[key for key in keys if read_cache(str(folder), key)] for folder in folders]
    assert left == [keys[:1], [*keys[:2], keys[4]]]
    assert len(list(tmp_path.rglob("thesis.json"))) == 2


async def test_a_reply_that_is_stored_while_one_looks_is_not_paid_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked_too_early(folder: str, key: str) -> ModelReply | None:
        found = read_cache(folder, key)
        write_cache(folder, key, "x/y", ModelReply("text"))  # by the caller that paid, just after this look
        return found

    monkeypatch.setattr(reply_cache, "read_cache", looked_too_early)
    kept = await look_up(str(tmp_path), "0" * 64)
    assert kept is not None
    assert kept.text == "text"
