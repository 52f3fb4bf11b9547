"""Retrieved passages mixed with written ones."""

from typing import Any

from hopgraph.nodes.selection import append_written_passage
from hopgraph.state import Candidates
from support.node_inputs import knowledge, passage


async def test_a_querys_retrieved_passages_come_before_its_written_one() -> None:
    state: Any = {
        "candidates": [Candidates(query="q", passage_ids=["b", "a"], scores=[2.0, 1.0])],
        "knowledge": [knowledge("q", "model:1")],
        "passages": [passage(key) for key in ("a", "b", "model:1")],
    }
    [entry] = (await append_written_passage(state))["knowledge"]
    assert [each["passage_id"] for each in entry["excerpts"]] == ["b", "a", "model:1"]
