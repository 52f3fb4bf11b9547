"""The background loop: synchronous code that waits for it never takes the threads that its work needs."""

import asyncio

import pytest

from hopgraph.tools.io.background import in_search_thread, run_in_background, run_user_code


def test_synchronous_retrievers_that_wait_for_ours_do_not_block_each_other() -> None:
    def wait_for_a_search(_number: int) -> int:
        return run_in_background(in_search_thread(len, "abc"))

    async def more_than_there_are_threads() -> list[int]:
        return await asyncio.gather(*(asyncio.to_thread(wait_for_a_search, number) for number in range(64)))

    assert run_in_background(more_than_there_are_threads()) == [3] * 64


def test_callers_code_that_runs_a_graph_does_not_take_its_threads() -> None:
    def nested(depth: int) -> int:
        return 1 + run_in_background(run_user_code(nested, depth - 1)) if depth else 0

    async def many() -> list[int]:
        return await asyncio.gather(*(run_user_code(nested, 2) for _ in range(64)))

    assert run_in_background(many()) == [2] * 64


async def test_an_exhausted_iterator_is_an_error_and_no_hang() -> None:
    async with asyncio.timeout(60):
        with pytest.raises(RuntimeError, match=r"^list_iterator raised StopIteration$"):
            await run_user_code(iter([]).__next__)


@pytest.mark.parametrize("ending", [SystemExit("no configuration"), KeyboardInterrupt()])
def test_a_step_that_exits_ends_its_run_alone(ending: BaseException) -> None:
    def leave() -> None:
        raise ending

    with pytest.raises(type(ending)):
        run_in_background(run_user_code(leave))

    async def leave_on_the_loop() -> None:
        await asyncio.sleep(0)
        raise ending

    with pytest.raises(type(ending)):
        run_in_background(leave_on_the_loop())
    assert run_in_background(run_user_code(len, "abc")) == 3
