"""The conditional edges of MIGRES."""

from typing import Any

import pytest

from hopgraph.graphs.migres import Context, enough_information, what_is_left, what_was_kept


@pytest.mark.parametrize(
    ("excerpts", "compression", "recall", "edge"),
    [
        ([1, 1], "sentences", True, "passages kept"),
        ([1, 0], "sentences", True, "nothing left"),
        ([0, 0], "sentences", False, "passages kept"),
        ([1, 0], "summary", True, "to compress"),
        ([0, 0], "snippet", True, "nothing left"),
    ],
)
def test_what_follows_the_filter(excerpts: list[int], compression: Any, recall: bool, edge: str) -> None:
    state: Any = {"knowledge": [{"query": "q", "excerpts": [None] * count} for count in excerpts]}
    settings = Context(compression=compression, recall=recall)
    assert what_was_kept(state, settings) == edge
    if edge != "to compress":
        assert what_is_left(state, settings) == edge


@pytest.mark.parametrize(
    ("reason", "edge"),
    [("answered", "answerable"), (None, "missing"), ("budget", "limit reached"), ("max_iterations", "limit reached")],
)
def test_what_follows_a_decision(reason: str | None, edge: str) -> None:
    state: Any = {"stop_reason": reason}
    assert enough_information(state) == edge
