"""Merging is idempotent and does not depend on the order in which branches finish."""

import string
from collections.abc import Callable, Sequence
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state import Call, Evidence, Passage
from hopgraph.state.question_tree import QuestionNode, QuestionStatus, merge_questions
from hopgraph.state.reducers import (
    any_true,
    merge_calls,
    merge_evidence,
    merge_ids,
    merge_passages,
    path_order,
)
from hopgraph.state.tree_of_reviews import ReviewNode, ReviewStatus, merge_reviews

IDS = st.text(string.ascii_lowercase, min_size=1, max_size=2)
SCORES = st.floats(-5, 5, allow_nan=False)
COUNTS = st.integers(0, 3)
PATHS = st.lists(st.integers(1, 12), max_size=3).map(lambda parts: ".".join(map(str, [0, *parts])))


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
        PATHS,
        st.sampled_from(get_args(QuestionStatus)),
        st.sampled_from(["", "known", "depth"]),
        IDS,
        st.lists(IDS, max_size=2),
    )
    return st.lists(one, max_size=5).map(lambda nodes: {node["id"]: node for node in nodes})


def review_trees() -> st.SearchStrategy[dict[str, ReviewNode]]:
    def made(key: str, status: ReviewStatus, query: str) -> ReviewNode:
        return ReviewNode(
            id=key,
            parent=key.rpartition(".")[0],
            depth=key.count("."),
            passage_ids=["p"],
            status=status,
            verdict="",
            analysis="",
            answer="",
            query=query,
            why="",
        )

    one = st.builds(made, PATHS, st.sampled_from(get_args(ReviewStatus)), st.sampled_from(["", "a", "b"]))
    return st.lists(one, max_size=6).map(lambda nodes: {node["id"]: node for node in nodes})


@pytest.mark.parametrize(
    ("merge", "values", "empty"),
    [
        (merge_passages, passages(), []),
        (merge_evidence, evidence(), []),
        (merge_calls, calls(), {}),
        (merge_ids, st.lists(IDS, max_size=6), []),
        (merge_questions, question_trees(), {}),
        (merge_reviews, review_trees(), {}),
        (any_true, st.booleans(), False),
    ],
    ids=["passages", "evidence", "calls", "ids", "questions", "reviews", "either"],
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


@pytest.mark.parametrize(
    ("merge", "trees", "ranks"),
    [
        (merge_questions, question_trees(), get_args(QuestionStatus)),
        (merge_reviews, review_trees(), get_args(ReviewStatus)),
    ],
)
def test_no_node_is_lost_and_no_status_goes_back(
    merge: Callable[[Any, Any], Any], trees: st.SearchStrategy[Any], ranks: Sequence[str]
) -> None:
    @given(trees, trees)
    def check(old: Any, new: Any) -> None:
        merged = merge(old, new)
        assert merged.keys() == old.keys() | new.keys()
        for key, node in merged.items():
            known = [tree[key] for tree in (old, new) if key in tree]
            assert node in known
            assert ranks.index(node["status"]) == max(ranks.index(each["status"]) for each in known)
        assert list(merged) == sorted(merged, key=path_order)

    check()


def test_nodes_come_before_their_children_and_ten_after_nine() -> None:
    keys = ["0.10", "0.9", "0.9.1", "0", "0.10.2"]
    assert sorted(keys, key=path_order) == ["0", "0.9", "0.9.1", "0.10", "0.10.2"]
