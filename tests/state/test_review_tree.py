"""Trees merge the same way in any order, and a node's status only moves forward."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state.reducers import path_order
from hopgraph.state.tree_of_reviews import ReviewNode, ReviewStatus, merge_reviews

STATUSES: tuple[ReviewStatus, ...] = get_args(ReviewStatus)
PATHS = st.lists(st.integers(1, 12), max_size=3).map(lambda parts: ".".join(map(str, [0, *parts])))


def node(key: str, status: ReviewStatus, query: str = "") -> ReviewNode:
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


def trees() -> st.SearchStrategy[dict[str, ReviewNode]]:
    one = st.builds(node, PATHS, st.sampled_from(STATUSES), st.sampled_from(["", "a", "b"]))
    return st.lists(one, max_size=6).map(lambda nodes: {each["id"]: each for each in nodes})


@given(trees(), trees(), trees())
def test_order_of_arrival_does_not_matter(
    first: dict[str, ReviewNode], second: dict[str, ReviewNode], third: dict[str, ReviewNode]
) -> None:
    merged = merge_reviews(merge_reviews(merge_reviews({}, first), second), third)
    other = merge_reviews(merge_reviews(third, second), first)
    assert list(merged.items()) == list(other.items())
    assert merge_reviews(merged, second) == merged


@given(trees(), trees())
def test_no_node_is_lost_and_no_status_goes_back(old: dict[str, ReviewNode], new: dict[str, ReviewNode]) -> None:
    merged = merge_reviews(old, new)
    assert merged.keys() == old.keys() | new.keys()
    for key, each in merged.items():
        known = [STATUSES.index(tree[key]["status"]) for tree in (old, new) if key in tree]
        assert STATUSES.index(each["status"]) == max(known)
    assert list(merged) == sorted(merged, key=path_order)


def test_nodes_come_before_their_children_and_ten_after_nine() -> None:
    keys = ["0.10", "0.9", "0.9.1", "0", "0.10.2"]
    assert list(merge_reviews({}, {key: node(key, "open") for key in keys})) == ["0", "0.9", "0.9.1", "0.10", "0.10.2"]
