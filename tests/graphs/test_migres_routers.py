"""The conditional edges of MIGRES."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from hopgraph.graphs.migres import Context, after_decision, after_filter, extract_or_recall


@pytest.mark.parametrize(
    ("excerpts", "compression", "recall", "edge"),
    [
        ([1, 1], "sentences", True, "to extract"),
        ([1, 0], "sentences", True, "to extract"),
        ([0, 0], "sentences", True, "to recall"),
        ([0, 0], "sentences", False, "to extract"),
        ([1, 0], "summary", True, "to compress"),
        ([0, 0], "snippet", True, "to recall"),
    ],
)
def test_what_follows_the_filter(excerpts: list[int], compression: Any, recall: bool, edge: str) -> None:
    state: Any = {"knowledge": [{"query": "q", "excerpts": [None] * count} for count in excerpts]}
    runtime = Runtime(context=Context(compression=compression, recall=recall))
    assert after_filter(state, runtime) == edge
    if edge != "to compress":
        assert extract_or_recall(state, runtime) == edge


def test_per_query_one_query_without_passages_is_enough_to_recall() -> None:
    state: Any = {"knowledge": [{"query": "q", "excerpts": [None]}, {"query": "r", "excerpts": []}]}
    assert extract_or_recall(state, Runtime(context=Context(extraction="per_query"))) == "to recall"
    assert extract_or_recall(state, Runtime(context=Context())) == "to extract"


@pytest.mark.parametrize(
    ("reason", "edge"),
    [("answered", "answerable"), (None, "missing"), ("budget", "limit reached"), ("max_iterations", "limit reached")],
)
def test_what_follows_a_decision(reason: str | None, edge: str) -> None:
    state: Any = {"stop_reason": reason}
    assert after_decision(state) == edge
