"""Retrieved paragraphs become nodes of the review tree, open or pruned."""

from typing import Any

import pytest

from hopgraph.nodes.prune import prune
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
