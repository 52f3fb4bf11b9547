"""A limit that holds for all event loops of the process."""

import asyncio
import threading

import pytest

from hopgraph.tools.io.background import SharedLimit
from support.waiting import PATIENCE


class Counter:
    """How many are inside at a time."""

    def __init__(self) -> None:
        self.now = self.most = self.entered = 0
        self.lock = threading.Lock()

    async def enter(self, limit: SharedLimit) -> None:
        async with limit:
            with self.lock:
                self.now += 1
                self.entered += 1
                self.most = max(self.most, self.now)
            await asyncio.sleep(0.001)
            with self.lock:
                self.now -= 1


def test_the_limit_holds_over_loops_and_threads() -> None:
    limit, counter = SharedLimit(3), Counter()

    async def many() -> None:
        await asyncio.gather(*(counter.enter(limit) for _ in range(40)))

    threads = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert counter.entered == 160
    assert counter.most == 3
    asyncio.run(asyncio.wait_for(counter.enter(limit), PATIENCE))


async def test_first_come_first_served() -> None:
    limit, order = SharedLimit(1), list[int]()

    async def enter(number: int) -> None:
        async with limit:
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(enter(number) for number in range(5)))
    assert order == list(range(5))


@pytest.mark.parametrize("turn_comes_first", [False, True])
async def test_a_place_is_not_lost_by_a_cancelled_wait(turn_comes_first: bool) -> None:
    limit = SharedLimit(1)
    await limit.__aenter__()
    waiting = asyncio.create_task(limit.__aenter__())
    await asyncio.sleep(0)
    if turn_comes_first:
        await limit.__aexit__()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    if not turn_comes_first:
        await limit.__aexit__()
    async with asyncio.timeout(PATIENCE), limit:
        pass


def test_who_waits_on_a_loop_that_was_closed_is_passed_over() -> None:
    limit = SharedLimit(1)
    asyncio.run(limit.__aenter__())
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(limit.__aenter__())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    asyncio.run(limit.__aexit__())
    assert not waiting.done()
    asyncio.run(asyncio.wait_for(limit.__aenter__(), PATIENCE))
