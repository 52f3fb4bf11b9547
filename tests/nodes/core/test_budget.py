"""Calls, tokens and seconds: what is left, and what is left over for later steps."""

import time
from typing import Any

import pytest

from hopgraph.nodes.core.budget import allows_call, calls_left, is_exhausted, spending_of_run
from hopgraph.state.migres import MigresContext
from hopgraph.state.run_settings import begin_run
from support.node_inputs import model_call, spent


def test_without_a_limit_everybody_may_ask() -> None:
    assert allows_call(MigresContext(), spent(model_call()), 10**9, reserve_calls=3)
    assert calls_left(MigresContext(), spent(model_call())) is None


@pytest.mark.parametrize("keep", [0, 1])
def test_the_final_answers_share_of_the_tokens_is_left_over(keep: int) -> None:
    settings = MigresContext(max_tokens=100)
    assert allows_call(settings, spent(model_call()), 60, reserve_calls=keep)
    assert not allows_call(settings, spent(model_call()), 61, reserve_calls=keep)
    assert allows_call(settings, spent(model_call()), 85)


def test_calls_under_way_count_for_all_steps_of_their_run_and_of_no_other() -> None:
    settings = begin_run(MigresContext(), MigresContext)
    spending_of_run(settings)["1"] = model_call()
    assert spending_of_run(settings).keys() == {"1"}
    assert spending_of_run(begin_run(settings, MigresContext)) == {}


@pytest.mark.parametrize(
    ("settings", "exhausted"),
    [
        ({}, False),
        ({"max_llm_calls": 3}, False),
        ({"max_llm_calls": 2}, True),
        ({"max_tokens": 15}, True),
        ({"deadline_seconds": 1}, True),
        ({"deadline_seconds": 90}, False),
    ],
)
def test_when_the_budget_is_used_up(settings: dict[str, Any], exhausted: bool) -> None:
    assert is_exhausted(MigresContext(**settings), spent(model_call(), ago=2), calls=2) is exhausted


def test_a_clock_that_is_set_back_gives_no_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = begin_run(MigresContext(deadline_seconds=10), MigresContext)
    so_far, later = spent(model_call()), time.perf_counter() + 11
    assert not is_exhausted(settings, so_far, calls=1)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert not is_exhausted(settings, so_far, calls=1)
    monkeypatch.setattr(time, "perf_counter", lambda: later)
    assert is_exhausted(settings, so_far, calls=1)
