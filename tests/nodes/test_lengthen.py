"""Newly retrieved paragraphs lengthen the one path of a chain."""

from typing import Any

from hopgraph.nodes.prune import extend_chain
from hopgraph.state import Candidates
from hopgraph.state.tree_of_reviews import ReviewContext
from support.node_inputs import node_runtime, passage, review_node, review_tree


async def test_only_new_paragraphs_make_one_node() -> None:
    state: Any = {
        "question": "Who?",
        "candidates": [Candidates(query="q", passage_ids=["a", "p0.1", "b"], scores=[3.0, 2.0, 1.0])],
        "passages": [passage(key) for key in ("a", "b", "p0.1")],
        "tree": review_tree(review_node("0.1", "search")),
        "frontier": ["0.1"],
        "evidence": [],
    }
    update = await extend_chain(state, node_runtime(ReviewContext()))
    assert {key: node["passage_ids"] for key, node in update["tree"].items()} == {"0.1.1": ["a", "b"]}
    state["candidates"][0]["passage_ids"] = ["p0.1"]
    assert (await extend_chain(state, node_runtime(ReviewContext())))["tree"] == {}
