"""The first passages of a ranking, as they are."""

from typing import Any

from hopgraph.nodes.selection import take_top
from hopgraph.state import Candidates, Context
from support.node_inputs import node_runtime, passage


async def test_each_query_keeps_its_first_passages_whole() -> None:
    candidates = [
        Candidates(query="q1", passage_ids=["b", "a", "c"], scores=[3.0, 2.0, 1.0]),
        Candidates(query="q2", passage_ids=[], scores=[]),
    ]
    state: Any = {"candidates": candidates, "passages": [passage(key) for key in ("a", "b", "c")]}
    update = await take_top(state, node_runtime(Context(top_k=2)))
    assert [each["query"] for each in update["knowledge"]] == ["q1", "q2"]
    assert [(each["passage_id"], each["score"]) for each in update["knowledge"][0]["excerpts"]] == [
        ("b", 3.0),
        ("a", 2.0),
    ]
    assert update["knowledge"][1]["excerpts"] == []
