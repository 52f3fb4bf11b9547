"""BlendFilter's wall time with a model that takes 0.3 s: over its critical path, and against one call at a time."""

import statistics
import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hopgraph.graphs import blendfilter
from support.blendfilter_script import LIMIT, QUESTION, fixed, replies
from support.walks import Script

pytestmark = pytest.mark.benchmark

LATENCY = 0.3
LONGEST_CHAIN = 5
"""Calls: reason, judge, select, answer, shorten."""
OVER_CRITICAL_PATH = 1.15
FASTER_THAN_ONE_BY_ONE = 1.9


def seconds(parallel: int) -> float:
    script = Script(replies())
    context = blendfilter.Context(model=script.model(latency=LATENCY), retriever=fixed(), max_parallel_calls=parallel)
    began = time.perf_counter()
    blendfilter.graph.invoke({"question": QUESTION}, context=context)
    wall = time.perf_counter() - began
    assert len(script.steps) == LIMIT
    return wall


def test_wall_time_over_critical_path_and_against_one_call_at_a_time(benchmark: BenchmarkFixture) -> None:
    walls: list[float] = []
    benchmark.pedantic(lambda: walls.append(seconds(parallel=8)), rounds=5, warmup_rounds=1)
    wall = statistics.median(walls)
    ratio = wall / (LATENCY * LONGEST_CHAIN)
    faster = seconds(parallel=1) / wall
    benchmark.extra_info["wall_over_critical_path"] = round(ratio, 3)
    benchmark.extra_info["faster_than_one_by_one"] = round(faster, 2)
    print(f"\nwall time over critical path: {ratio:.3f}; {faster:.2f} times as fast as one by one")  # noqa: T201
    assert ratio <= OVER_CRITICAL_PATH
    assert faster >= FASTER_THAN_ONE_BY_ONE
