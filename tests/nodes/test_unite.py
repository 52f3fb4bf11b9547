"""One entry of knowledge from those of several queries."""

from typing import Any

from hopgraph.nodes.unite import unite
from hopgraph.state import Context
from support.node_inputs import knowledge, node_runtime


async def test_passages_are_in_the_order_of_the_branches_each_once() -> None:
    branches = [
        {"name": "original", "query": "q1", "reserved": None},
        {"name": "external", "query": "q2", "reserved": None},
    ]
    entries = [knowledge("edited", "d"), knowledge("q2", "b", "c"), knowledge("q1", "a", "b")]
    state: Any = {"question": "Who?", "branches": branches, "knowledge": entries}
    [entry] = (await unite(state, node_runtime(Context())))["knowledge"].value
    assert entry["query"] == "Who?"
    assert [each["passage_id"] for each in entry["excerpts"]] == ["a", "b", "c", "d"]
