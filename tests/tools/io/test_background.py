"""The background loop: synchronous code that waits for it never takes the threads that its work needs."""

import asyncio

from hopgraph.tools.io.background import in_search_thread, run_in_background


def test_synchronous_retrievers_that_wait_for_ours_do_not_block_each_other() -> None:
    def wait_for_a_search(_number: int) -> int:
        return run_in_background(in_search_thread(len, "abc"))

    async def more_than_there_are_threads() -> list[int]:
        return await asyncio.gather(*(asyncio.to_thread(wait_for_a_search, number) for number in range(64)))

    assert run_in_background(more_than_there_are_threads()) == [3] * 64
