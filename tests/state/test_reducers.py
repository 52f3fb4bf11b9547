"""Merging is idempotent and does not depend on the order in which branches finish."""

import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state import Call, Evidence, Passage
from hopgraph.state.reducers import merge_calls, merge_evidence, merge_ids, merge_passages

IDS = st.text(string.ascii_lowercase, min_size=1, max_size=2)
SCORES = st.floats(-5, 5, allow_nan=False)
COUNTS = st.integers(0, 3)


def passages() -> st.SearchStrategy[list[Passage]]:
    one = st.builds(
        lambda key, score, hop: Passage(id=key, title=key, text=f"text of {key}", score=score, source="s", hop=hop),
        IDS,
        SCORES,
        st.integers(1, 4),
    )
    return st.lists(one, max_size=6)


def evidence() -> st.SearchStrategy[list[Evidence]]:
    one = st.builds(
        lambda number, verified, statement: Evidence(
            id=f"{number}.1.1", statement=statement, passage_ids=["p"], quote="", verified=verified
        ),
        st.integers(1, 12),
        st.booleans(),
        IDS,
    )
    return st.lists(one, max_size=6)


def calls() -> st.SearchStrategy[dict[str, Call]]:
    one = st.builds(
        lambda attempts, tokens, role: Call(
            kind="model",
            role=role,
            attempts=attempts,
            prompt_tokens=tokens,
            completion_tokens=0,
            parse_failures=0,
            passages=0,
            knowledge_tokens=0,
        ),
        COUNTS,
        COUNTS,
        IDS,
    )
    return st.dictionaries(IDS, one, max_size=4)


@pytest.mark.parametrize(
    ("merge", "values", "empty"),
    [
        (merge_passages, passages(), []),
        (merge_evidence, evidence(), []),
        (merge_calls, calls(), {}),
        (merge_ids, st.lists(IDS, max_size=6), []),
    ],
    ids=["passages", "evidence", "calls", "ids"],
)
def test_order_of_arrival_does_not_matter(
    merge: Callable[[Any, Any], Any], values: st.SearchStrategy[Any], empty: Any
) -> None:
    @given(values, values, values)
    def check(first: Any, second: Any, third: Any) -> None:
        one_way = merge(merge(merge(empty, first), second), third)
        assert one_way == merge(merge(merge(empty, third), first), second)
        assert one_way == merge(one_way, second)

    check()


def test_a_passage_keeps_its_first_hop_and_that_hops_best_score() -> None:
    def found(score: float, hop: int) -> Passage:
        return Passage(id="a", title="A", text="t", score=score, source="s", hop=hop)

    merged = merge_passages([found(2.0, 2)], [found(9.0, 3), found(3.0, 2), found(1.0, 1)])
    assert [(passage["hop"], passage["score"]) for passage in merged] == [(1, 1.0)]


def test_evidence_is_in_the_order_of_the_run_not_of_the_alphabet() -> None:
    def known(key: str) -> Evidence:
        return Evidence(id=key, statement=key, passage_ids=["p"], quote="", verified=True)

    merged = merge_evidence([known("10.1.1")], [known("2.1.1"), known("2.1.10"), known("2.1.9")])
    assert [each["id"] for each in merged] == ["2.1.1", "2.1.9", "2.1.10", "10.1.1"]
