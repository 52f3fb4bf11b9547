"""How long a whole tree takes, against its longest chain of calls and against one call after another."""

import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hopgraph.graphs import tree_of_reviews
from support.review_worlds import accept, completed, fused, read, search, world
from support.walks import Script

pytestmark = pytest.mark.benchmark

QUESTION = "Where was the director of the film Night Harbour born?"
LATENCY = 0.3
CHAIN = 6
"""Calls after one another: three levels of reviews, two of completions, the reader."""
OVER_CRITICAL_PATH = 1.15
OVER_SEQUENTIAL = 3.0
CALLS = (22, 86)
"""Of the usual and of the full tree."""


def another_query() -> Callable[[str], str]:
    numbers = count(1)
    return lambda _: completed(f"query {next(numbers)}")


def usual_tree() -> Script:
    """Make a tree of the paper's size (Table 5, 16.9 calls): 5 + 9 + 3 reviews and a fusion; and 4 completions."""
    numbers = count(1)
    verdicts = {1: search("x"), 2: search("x"), 4: search("x"), 8: search("x"), 15: accept("a")}
    return Script(
        {
            "review": lambda _: verdicts.get(next(numbers), '{"relevant": false}'),
            "complete": another_query(),
            "fuse": lambda _: fused("a", 1),
        }
    )


def full_tree() -> Script:
    """Make a tree where nothing is pruned and nothing accepted: 65 reviews, 20 completions, a reader."""
    return Script(
        {
            "review": lambda _: search("x"),
            "complete": another_query(),
            "answer_step_by_step": lambda _: read("a", 1),
        }
    )


def seconds(said: Script, **more: Any) -> float:
    # Each query finds passages of its own, so that none is pruned.
    others = {rf"query {number}\b": f"{number}a {number}b {number}c" for number in range(1, 21)}
    settings: dict[str, Any] = {
        "model": said.model(LATENCY),
        "retriever": world(otherwise="a b c d e", **others),
        "max_parallel_calls": 64,
        **more,
    }
    began = time.perf_counter()
    tree_of_reviews.graph.invoke({"question": QUESTION}, context=tree_of_reviews.Context(**settings))
    wall = time.perf_counter() - began
    assert len(said.steps) in CALLS, "the tree is not the one that the script describes"
    return wall


@pytest.mark.parametrize("tree", [usual_tree, full_tree])
def test_wall_time_over_critical_path(benchmark: BenchmarkFixture, tree: Callable[[], Script]) -> None:
    ratios: list[float] = []
    benchmark.pedantic(lambda: ratios.append(seconds(tree()) / (LATENCY * CHAIN)), rounds=3, warmup_rounds=1)
    median = sorted(ratios)[1]
    benchmark.extra_info["wall_over_critical_path"] = round(median, 3)
    print(f"\nwall time over critical path: median {median:.3f}")  # noqa: T201
    assert median <= OVER_CRITICAL_PATH


def test_levels_side_by_side_against_one_call_at_a_time(benchmark: BenchmarkFixture) -> None:
    one_by_one = seconds(usual_tree(), max_parallel_calls=1)
    side_by_side: list[float] = []
    benchmark.pedantic(lambda: side_by_side.append(seconds(usual_tree())), rounds=3, warmup_rounds=1)
    ratio = one_by_one / sorted(side_by_side)[1]
    benchmark.extra_info["times_faster"] = round(ratio, 2)
    print(f"\n{ratio:.2f} times faster than one call at a time")  # noqa: T201
    assert ratio >= OVER_SEQUENTIAL
