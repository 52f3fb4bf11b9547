"""Retrieved paragraphs become nodes of the review tree, open or pruned."""

from typing import Any

import pytest

from hopgraph.nodes.prune import parents_of, prune
from hopgraph.state import Candidates
from hopgraph.state.tree_of_reviews import TreeOfReviewsContext
from support.node_inputs import evidence, node_runtime, passage, review_node, review_tree


def growing(**fields: Any) -> Any:
    """What `prune` reads below the node 0.1, whose paragraph is `p0.1`."""
    return {
        "question": "Who?",
        "candidates": [Candidates(query="q", passage_ids=["a", "b", "c"], scores=[3.0, 2.0, 1.0])],
        "passages": [
            passage("p0.1", "Rembrandt painted it.", title=""),
            passage("p0.2", "Ships sail."),
            passage("a", "Cats purr.", title=""),
            passage("b", "Lima is a city.", title=""),
            passage("c", "Rembrandt painted it.", title=""),
        ],
        "tree": review_tree(review_node("0.1", "search"), review_node("0.2", "reject", passage_ids=["b"])),
        "frontier": ["0.1"],
        "evidence": [evidence(1, "Cats purr.", "a")],
        **fields,
    }


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, ["in the evidence pool", "", ""]),
        ({"prune_repetitive": False}, ["", "", ""]),
        ({"remember_rejected": True}, ["in the evidence pool", "rejected before", ""]),
        ({"prune_similar": 0.9}, ["in the evidence pool", "", "similar to p0.1"]),
    ],
)
async def test_why_a_paragraph_is_pruned(settings: dict[str, Any], why: list[str]) -> None:
    update = await prune(growing(), node_runtime(TreeOfReviewsContext(**settings)))
    assert [node["why"] for node in update["tree"].values()] == why
    assert list(update["tree"]) == ["0.1.1", "0.1.2", "0.1.3"]
    assert [node["status"] for node in update["tree"].values()] == ["pruned" if each else "open" for each in why]
    assert update["frontier"] == []


async def test_the_first_paragraphs_come_with_the_root() -> None:
    events: list[Any] = []
    update = await prune(growing(tree={}, frontier=[], evidence=[]), node_runtime(TreeOfReviewsContext(), events))
    assert list(update["tree"]) == ["0", "0.1", "0.2", "0.3"]
    assert (update["tree"]["0"]["status"], update["tree"]["0"]["query"]) == ("expanded", "Who?")
    assert [event["event"] for event in events] == ["grown"]


async def test_similar_paragraphs_of_one_retrieval_are_kept_once() -> None:
    passages = [passage(key, "Rembrandt painted it.", title="") for key in ("a", "b", "c")]
    update = await prune(
        growing(passages=passages, tree={}, evidence=[]), node_runtime(TreeOfReviewsContext(prune_similar=1.0))
    )
    assert [node["why"] for node in update["tree"].values()] == ["", "", "similar to a", "similar to a"]


def test_parents_are_in_the_order_of_the_queries() -> None:
    tree = review_tree(review_node("0.1"), review_node("0.2"))
    searched = growing(
        tree=tree, frontier=["0.2", "0.1"], candidates=[Candidates(query="q", passage_ids=[], scores=[])] * 2
    )
    assert [node["id"] for node in parents_of(searched)] == ["0.2", "0.1"]


@pytest.mark.parametrize(
    ("verdict", "settings", "why"),
    [
        ("search", {}, ["on its own path", "same paragraphs as another path", ""]),
        ("unread", {}, ["on its own path", "", ""]),
        ("search", {"prune_repetitive": False}, ["", "", ""]),
    ],
)
async def test_no_path_is_reviewed_twice_in_whatever_order(
    verdict: str, settings: dict[str, Any], why: list[str]
) -> None:
    nodes = [
        review_node("0.1", "search", passage_ids=["a"]),
        review_node("0.2", "search", passage_ids=["b"]),
        review_node("0.2.1", verdict, passage_ids=["a"]),
        review_node("0.2.2", "", passage_ids=["c"], status="pruned"),
    ]
    update = await prune(growing(tree=review_tree(*nodes), evidence=[]), node_runtime(TreeOfReviewsContext(**settings)))
    assert [node["why"] for node in update["tree"].values()] == why


async def test_of_two_paths_that_grow_side_by_side_the_first_is_reviewed() -> None:
    nodes = [review_node(f"0.{key}", "search", passage_ids=[key]) for key in "ab"]
    found = [Candidates(query="q", passage_ids=[key], scores=[1.0]) for key in "ba"]
    state = growing(tree=review_tree(*nodes), candidates=found, frontier=["0.a", "0.b"], evidence=[])
    update = await prune(state, node_runtime(TreeOfReviewsContext()))
    assert {key: node["why"] for key, node in update["tree"].items()} == {
        "0.a.1": "",
        "0.b.1": "same paragraphs as another path",
    }
