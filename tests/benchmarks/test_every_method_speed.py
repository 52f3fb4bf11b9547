"""How long every method takes compared with its longest chain of dependent calls, with a model that takes 0.3 s."""

import statistics
import time
from collections import defaultdict
from collections.abc import Iterable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.state import StepEvent
from support.honest import input_for, model
from support.walks import walk

pytestmark = pytest.mark.benchmark

LATENCY = 0.3
"""Seconds of each model call."""
OVER_CRITICAL_PATH = 1.15


def longest_chain(calls: Iterable[str]) -> int:
    """Count the links of the longest chain of dependent calls, the barriers between supersteps included.

    A call is given by where its node ran: superstep and task, of each graph from the outermost inwards. The
    calls of one node depend on nothing but what was there before, tasks of one superstep run side by side,
    and supersteps follow on one another.
    """
    steps: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for place in calls:
        own, _, inner = place.partition("|")
        step, _, task = own.partition(":")
        steps[step][task].append(inner)
    return sum(
        max(1 if not all(inner) else longest_chain(inner) for inner in tasks.values()) for tasks in steps.values()
    )


def place_of(event: StepEvent) -> str:
    return f"{event['step']:05}:{event['path']}"


def test_how_the_longest_chain_is_counted() -> None:
    assert longest_chain(["1:a", "1:a", "2:b/1", "2:b/2"]) == 2
    assert longest_chain(["1:a|1:x", "1:a|2:y", "1:b|1:x", "3:c"]) == 3


@pytest.mark.parametrize("method", sorted(METHODS.keys() - ALIASES.keys()))
def test_wall_time_over_critical_path(benchmark: BenchmarkFixture, method: str) -> None:
    graph, context, given = METHODS[method].graph, METHODS[method].Context, input_for(method)
    ran = walk(graph, given, context(model=model()))
    chain = longest_chain(place_of(event) for event in ran.events if event["event"] == "asked")
    assert chain <= ran.result["usage"]["llm_calls"]
    ratios: list[float] = []

    def once() -> None:
        settings = context(model=model(latency=LATENCY), max_parallel_calls=64)
        began = time.perf_counter()
        result = graph.invoke(given, context=settings)
        ratios.append((time.perf_counter() - began) / (LATENCY * chain))
        assert result["usage"]["llm_calls"] == ran.result["usage"]["llm_calls"]

    benchmark.pedantic(once, rounds=3, warmup_rounds=1)
    ratio = statistics.median(ratios)
    benchmark.extra_info["wall_over_critical_path"] = round(ratio, 3)
    print(f"\n{method}: {chain} calls in a chain, wall time over critical path {ratio:.3f}")  # noqa: T201
    assert ratio <= OVER_CRITICAL_PATH
