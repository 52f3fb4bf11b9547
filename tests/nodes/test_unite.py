"""One entry of knowledge from those of several queries."""

from typing import Any

from hopgraph.nodes.selection import merge_branches
from hopgraph.state import Context
from support.node_inputs import knowledge, node_runtime


async def test_passages_are_in_the_order_of_the_queries_each_once() -> None:
    entries = [knowledge("q1", "a", "b"), knowledge("q2", "b", "c"), knowledge("edited", "d")]
    state: Any = {"question": "Who?", "knowledge": entries}
    [entry] = (await merge_branches(state, node_runtime(Context())))["knowledge"]
    assert entry["query"] == "Who?"
    assert [each["passage_id"] for each in entry["excerpts"]] == ["a", "b", "c", "d"]
