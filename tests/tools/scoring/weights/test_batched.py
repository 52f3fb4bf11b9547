"""Sharing and batching, without any model."""

import asyncio
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.batched import MAX_JOINED, Batched, batches_by_length, load_once


def test_something_is_made_once_for_all_threads() -> None:
    made: list[int] = []

    def make() -> object:
        time.sleep(0.05)
        made.append(1)
        return object()

    with ThreadPoolExecutor(20) as pool:
        got = list(pool.map(lambda _: load_once(("test", "once"), make), range(20)))
    assert len(made) == 1
    assert len(set(map(id, got))) == 1


def test_what_failed_to_be_made_is_tried_again() -> None:
    def fail() -> object:
        raise SpecError("no")

    with pytest.raises(SpecError, match="no"):
        load_once(("test", "again"), fail)
    assert load_once(("test", "again"), lambda: 5) == 5


def test_waiting_requests_are_put_together_and_large_ones_are_not() -> None:
    sizes: list[int] = []
    begun, go = threading.Event(), threading.Event()

    def double(items: list[int]) -> list[int]:
        sizes.append(len(items))
        begun.set()
        assert go.wait(10)
        return [2 * each for each in items]

    batched = Batched(double)
    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(batched, [0])
        assert begun.wait(10)
        small = [pool.submit(batched, [number, number]) for number in range(10)]
        time.sleep(0.2)
        large = pool.submit(batched, list(range(MAX_JOINED)))
        time.sleep(0.2)
        go.set()
        assert first.result() == [0]
        assert [each.result() for each in small] == [[2 * number] * 2 for number in range(10)]
        assert large.result() == [2 * each for each in range(MAX_JOINED)]
    assert sizes == [1, 20, MAX_JOINED]


async def test_a_cancelled_request_is_not_worked_on_and_an_error_reaches_who_asked() -> None:
    seen: list[int] = []
    go = threading.Event()

    def work(items: list[int]) -> list[int]:
        seen.extend(items)
        assert go.wait(10)
        return [1 // each for each in items]

    batched = Batched(work)
    first = asyncio.create_task(batched.acall([1]))
    await asyncio.sleep(0.1)
    cancelled = asyncio.create_task(batched.acall([2]))
    await asyncio.sleep(0.05)
    cancelled.cancel()
    await asyncio.sleep(0.05)
    go.set()
    assert await first == [1]
    with pytest.raises(ZeroDivisionError):
        await batched.acall([0])
    assert await batched.acall([1]) == [1]  # the thread survives
    assert seen == [1, 0, 1]
    assert await batched.acall([]) == []


def test_batches_hold_the_longest_first_and_so_many_tokens() -> None:
    assert batches_by_length([3, 9, 1, 9, 2, 40], 18) == [[5], [1, 3], [0, 4, 2]]
    assert batches_by_length([], 10) == []
    assert batches_by_length([0, 0], 1) == [[0], [1]]


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SpecError, match=r"package torch is not installed; run: pip install 'hopgraph\[models\]'"):
        require("torch")
