"""Passages collected over several retrievals."""

from typing import Any

import pytest

from hopgraph.nodes.selection import add_passages
from hopgraph.state import Candidates
from hopgraph.state.baselines import IrcotContext
from support.node_inputs import knowledge, node_runtime, passage


@pytest.mark.parametrize(("most", "ids"), [(15, ["b", "c"]), (2, ["b"]), (1, [])])
async def test_new_passages_are_added_up_to_the_limit(most: int, ids: list[str]) -> None:
    state: Any = {
        "candidates": [Candidates(query="q2", passage_ids=["b", "a", "c"], scores=[3.0, 2.0, 1.0])],
        "knowledge": [knowledge("q1", "a")],
        "passages": [passage(key) for key in ("a", "b", "c")],
    }
    update = await add_passages(state, node_runtime(IrcotContext(max_passages=most)))
    assert [entry["query"] for entry in update["knowledge"]] == ["q1", "q2"]
    assert [each["passage_id"] for each in update["knowledge"][1]["excerpts"]] == ids
