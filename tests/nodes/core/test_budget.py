"""Calls, tokens and seconds: what is left, and how steps and branches share it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.nodes.core.budget import (
    REPLY_TOKENS,
    allocate_calls,
    calls_left,
    is_exhausted,
    reserved_call,
    share_among_branches,
    tokens_left,
)
from hopgraph.state import Context, Spent
from hopgraph.state.migres import MigresContext
from support.node_inputs import model_call, spent


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 8), st.integers(0, 3), st.integers(0, 3))
def test_shares_never_exceed_the_budget_and_first_requests_come_first(
    limit: int, used: int, count: int, keep: int, retries: int
) -> None:
    settings = MigresContext(max_llm_calls=limit, parse_retries=retries)
    shares = allocate_calls(settings, spent(*[model_call()] * used), [0] * count, reserve_calls=keep)
    left = max(0, limit - used - keep)
    assert sum(shares) == min(left, count * (1 + retries))
    assert sum(1 for share in shares if share) == min(left, count)
    assert shares == sorted(shares, reverse=True)


def test_without_a_limit_everybody_may_ask_again() -> None:
    assert allocate_calls(MigresContext(parse_retries=2), spent(), [5, 5]) == [3, 3]
    assert calls_left(MigresContext(), spent(model_call())) is None


def test_tokens_are_given_out_in_order() -> None:
    settings = MigresContext(max_tokens=15 + 80 + 2 * REPLY_TOKENS, parse_retries=0)
    assert allocate_calls(settings, spent(model_call()), [60, 60, 20]) == [1, 0, 1]
    for keep in (0, 1):  # before the final answer its share is left over
        assert allocate_calls(settings, spent(model_call()), [60, 60, 20], reserve_calls=keep) == [1, 0, 0]


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


@given(
    st.integers(0, 40),
    st.integers(0, 20),
    st.lists(st.tuples(st.integers(0, 2), st.integers(2, 8)), max_size=5),
    st.integers(0, 2),
    st.integers(0, 3),
)
def test_branches_together_never_get_more_than_is_left(
    limit: int, attempts: int, needs: list[tuple[int, int]], keep: int, retries: int
) -> None:
    settings = Context(max_llm_calls=limit + 1, parse_retries=retries)
    reserved = share_among_branches(settings, spent(reserved_call(attempts)), needs, reserve_calls=keep)
    lefts = [calls_left(settings, Spent(calls={"r": each}, started_at=0.0)) or 0 for each in reserved]
    assert sum(lefts) <= max(0, limit + 1 - attempts - keep)
    assert len(reserved) <= len(needs)
    for left, (least, most) in zip(lefts, needs, strict=False):
        assert min(least, most) <= left <= most * (1 + retries)
    for left, (_, most) in list(zip(lefts, needs, strict=False))[1:]:
        assert left >= most


def test_without_a_limit_every_branch_starts_and_sees_what_was_spent() -> None:
    reserved = share_among_branches(Context(), spent(reserved_call(7, 100)), [(2, 8)] * 3)
    assert [(each["attempts"], each["prompt_tokens"]) for each in reserved] == [(7, 100)] * 3


@pytest.mark.parametrize("keep", [0, 1])
def test_tokens_before_the_final_answers_share_are_shared_evenly(keep: int) -> None:
    settings = Context(max_tokens=10_000)
    for each in share_among_branches(settings, spent(reserved_call(0, 1000)), [(2, 8)] * 3, reserve_calls=keep):
        left = tokens_left(settings, Spent(calls={"r": each}, started_at=0.0), answer_follows=True)
        assert left == (7500 - 1000) // 3
