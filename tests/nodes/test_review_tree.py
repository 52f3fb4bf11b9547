"""Paths of a review tree, and the accepted nodes that agree on an answer."""

from typing import Any

from hopgraph.nodes.review_tree import (
    accepted_nodes,
    majority_nodes,
)
from support.node_inputs import evidence, review_node, review_tree


def test_the_majority_is_the_largest_group_of_accepted_nodes_and_of_equal_ones_the_first() -> None:
    tree = review_tree(
        review_node("0.1", "accept", answer="Lima"),
        review_node("0.2", "accept", answer="The Oslo."),
        review_node("0.3", "accept", answer="oslo"),
        review_node("0.4", "search", answer="Lima"),
    )
    assert [node["id"] for node in majority_nodes(tree)] == ["0.2", "0.3"]
    tree["0.4"]["verdict"] = "accept"
    assert [node["id"] for node in majority_nodes(tree)] == ["0.1", "0.4"]
    assert majority_nodes(review_tree(review_node("0.1", "accept"))) == []


def test_accepted_nodes_are_those_in_the_evidence() -> None:
    tree = review_tree(review_node("0.1", "accept"), review_node("0.2", "accept"))
    kept: Any = {**evidence(1, "s"), "id": "0.2"}
    assert list(accepted_nodes(tree, [kept])) == ["0.2"]
