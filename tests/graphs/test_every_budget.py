"""Every method obeys its budget in the middle of its work, and its result does not depend on which call is first."""

import json
from functools import cache
from typing import Any

import pytest

from hopgraph.graphs import METHODS
from hopgraph.tools.retrieval import resolve_retriever
from support.every_method import NAMES, baselines_slow
from support.fake_clock import NEVER
from support.honest import honest, input_for, model
from support.servers.scripted_model import JumbledChatModel
from support.walks import Walk, walk

KEPT_BACK = 3
"""Calls that a method leaves over at most, for an answer: MIGRES an extraction, a decision and a final answer."""


def run(method: str, **settings: Any) -> Walk:
    return walk(METHODS[method].graph, input_for(method), METHODS[method].Context(**{"model": model(), **settings}))


@cache
def whole(method: str) -> dict[str, Any]:
    """What a run without a budget gives."""
    return run(method).result


def tokens(result: dict[str, Any]) -> int:
    return result["usage"]["prompt_tokens"] + result["usage"]["completion_tokens"]


@pytest.mark.parametrize("method", NAMES)
def test_no_more_calls_than_the_budget_has(method: str) -> None:
    needed = whole(method)["usage"]["llm_calls"]
    for limit in sorted(each for each in {1, needed // 2, needed - 1} if 0 < each < needed):
        asked = model()
        result = run(method, model=asked, max_llm_calls=limit).result
        assert len(asked.calls) == result["usage"]["llm_calls"] <= limit
        assert result["stop_reason"] == "budget", limit
        assert result["answer"] or not result["citations"]
        assert result["answer"] or not whole(method)["answer"] or limit < needed - 1, "the best answer so far"
    assert run(method, max_llm_calls=needed + KEPT_BACK).result == whole(method)


@pytest.mark.parametrize("method", baselines_slow())
@pytest.mark.parametrize("share", [0.2, 0.9])
def test_no_more_tokens_than_the_budget_has(method: str, share: float) -> None:
    limit = int(tokens(whole(method)) * share)
    result = run(method, max_tokens=limit).result
    assert tokens(result) <= limit
    assert result["stop_reason"] == "budget"
    assert result["answer"] or not result["citations"]


@pytest.mark.parametrize("method", baselines_slow())
def test_a_deadline_ends_a_run_in_the_middle_of_its_work(method: str) -> None:
    """The call that is under way is not waited for."""
    resolve_retriever("sample")  # opened before the time runs
    result = run(method, model=model(latency=NEVER), deadline_seconds=0.05).result
    assert result["stop_reason"] == "budget"
    assert result["answer"] or not result["citations"]


@pytest.mark.slow
@pytest.mark.parametrize("method", baselines_slow())
def test_results_and_traces_do_not_depend_on_which_call_is_first(method: str) -> None:
    def outcome(seed: int) -> str:
        ran = run(method, model=JumbledChatModel(replies=honest, seed=seed))
        del ran.state["started_at"], ran.state["settings"]["model"]  # one of another seed is another model
        return json.dumps([ran.state, ran.events])

    assert outcome(1) == outcome(2)
