"""Merging is idempotent and does not depend on the order in which branches finish."""

import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state import Call, Evidence, Passage
from hopgraph.state.question_tree import QuestionNode, merge_questions
from hopgraph.state.reducers import (
    any_true,
    merge_calls,
    merge_evidence,
    merge_ids,
    merge_passages,
)

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
            cached=0,
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


def question_trees() -> st.SearchStrategy[dict[str, QuestionNode]]:
    def made(key: str, status: Any, how: Any, answer: str, passage_ids: list[str]) -> QuestionNode:
        return QuestionNode(
            id=key,
            parent=key.rpartition(".")[0],
            depth=key.count("."),
            question="q",
            status=status,
            answer=answer,
            how=how,
            explanation="",
            passage_ids=passage_ids,
        )

    one = st.builds(
        made,
        st.sampled_from(["0", "0.1", "0.2", "0.10", "0.1.1"]),
        st.sampled_from(["open", "split", "unknown", "answered"]),
        st.sampled_from(["", "known", "depth"]),
        IDS,
        st.lists(IDS, max_size=2),
    )
    return st.lists(one, max_size=5).map(lambda nodes: {node["id"]: node for node in nodes})


@pytest.mark.parametrize(
    ("merge", "values", "empty"),
    [
        (merge_passages, passages(), []),
        (merge_evidence, evidence(), []),
        (merge_calls, calls(), {}),
        (merge_ids, st.lists(IDS, max_size=6), []),
        (merge_questions, question_trees(), {}),
        (any_true, st.booleans(), False),
    ],
    ids=["passages", "evidence", "calls", "ids", "questions", "either"],
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


@given(question_trees(), question_trees())
def test_a_questions_status_only_moves_forward(old: dict[str, QuestionNode], new: dict[str, QuestionNode]) -> None:
    ranks = ["open", "split", "unknown", "answered"]
    merged = merge_questions(old, new)
    assert merged.keys() == old.keys() | new.keys()
    for key, node in merged.items():
        given_ = [tree[key] for tree in (old, new) if key in tree]
        assert node in given_
        assert ranks.index(node["status"]) == max(ranks.index(each["status"]) for each in given_)


def test_questions_are_in_the_order_of_their_paths() -> None:
    tree = {
        key: QuestionNode(
            id=key, parent="", depth=0, question="", status="open", answer="", how="", explanation="", passage_ids=[]
        )
        for key in ("0.10", "0.2", "0", "0.2.1")
    }
    assert list(merge_questions({}, tree)) == ["0", "0.2", "0.2.1", "0.10"]
