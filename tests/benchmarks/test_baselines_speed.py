"""How long the baselines with several calls take compared with their longest chain of dependent calls."""

import statistics
import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from support.baselines_script import METHODS, ROLES, input_for, replies, settings_for
from support.walks import Script

pytestmark = pytest.mark.benchmark

LATENCY = 0.3
"""Seconds of each model call."""
OVER_CRITICAL_PATH = 1.15


@pytest.mark.parametrize(
    ("method", "path"), [("cot_sc", 1), ("rerank", 1), ("summ", 2), ("iter_retgen", 2), ("ircot", 3)]
)
def test_wall_time_over_critical_path(benchmark: BenchmarkFixture, method: str, path: int) -> None:
    ratios: list[float] = []

    def once() -> None:
        script = Script(replies())
        settings = settings_for(method, script, model=script.model(latency=LATENCY))
        began = time.perf_counter()
        METHODS[method].graph.invoke(input_for(method), context=settings)
        ratios.append((time.perf_counter() - began) / (LATENCY * path))
        assert script.steps == ROLES[method]

    benchmark.pedantic(once, rounds=5, warmup_rounds=1)
    ratio = statistics.median(ratios)
    benchmark.extra_info["wall_over_critical_path"] = round(ratio, 3)
    print(f"\n{method}: wall time over critical path: {ratio:.3f}")  # noqa: T201
    assert ratio <= OVER_CRITICAL_PATH
