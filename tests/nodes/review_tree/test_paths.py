"""Paths of a review tree, and the accepted nodes that agree on an answer."""

from typing import Any

from hopgraph.nodes.review_tree.paths import (
    accepted_nodes,
    majority_nodes,
    make_child,
    nodes_with_status,
    passages_on_path,
)
from support.node_inputs import evidence, review_node, review_tree


def test_the_passages_of_a_path_come_from_the_root_down_each_once() -> None:
    tree = review_tree(
        review_node("0.1", passage_ids=["a"]),
        review_node("0.2", passage_ids=["x"]),
        review_node("0.1.1", passage_ids=["b", "a"]),
    )
    assert passages_on_path(tree, tree["0.1.1"]) == ["a", "b"]
    assert passages_on_path(tree, tree["0"]) == []


def test_a_child_is_open_unless_there_is_a_reason_to_prune_it() -> None:
    parent = review_node("0.2")
    assert make_child(parent, 3, ["a"]) == review_node("0.2.3", passage_ids=["a"])
    assert make_child(parent, 3, ["a"], why="seen")["status"] == "pruned"
    assert [node["id"] for node in nodes_with_status(review_tree(parent), "open")] == ["0.2"]


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
