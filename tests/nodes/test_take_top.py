"""The first passages of a ranking, as they are."""

from typing import Any

import pytest

from hopgraph.nodes.take_top import collect, mix_passages, take_top
from hopgraph.state import Candidates, Context
from hopgraph.state.baselines import IrcotContext
from support.node_inputs import knowledge, node_runtime, passage


async def test_each_query_keeps_its_first_passages_whole() -> None:
    candidates = [
        Candidates(query="q1", passage_ids=["b", "a", "c"], scores=[3.0, 2.0, 1.0]),
        Candidates(query="q2", passage_ids=[], scores=[]),
    ]
    state: Any = {"candidates": candidates, "passages": [passage(key) for key in ("a", "b", "c")]}
    update = await take_top(state, node_runtime(Context(passages_per_query=2)))
    assert [each["query"] for each in update["knowledge"]] == ["q1", "q2"]
    assert [(each["passage_id"], each["score"]) for each in update["knowledge"][0]["excerpts"]] == [
        ("b", 3.0),
        ("a", 2.0),
    ]
    assert update["knowledge"][1]["excerpts"] == []


@pytest.mark.parametrize(("most", "ids"), [(15, ["b", "c"]), (2, ["b"]), (1, [])])
async def test_new_passages_are_added_up_to_the_limit(most: int, ids: list[str]) -> None:
    state: Any = {
        "candidates": [Candidates(query="q2", passage_ids=["b", "a", "c"], scores=[3.0, 2.0, 1.0])],
        "knowledge": [knowledge("q1", "a")],
        "passages": [passage(key) for key in ("a", "b", "c")],
    }
    update = await collect(state, node_runtime(IrcotContext(max_passages=most)))
    assert [entry["query"] for entry in update["knowledge"]] == ["q1", "q2"]
    assert [each["passage_id"] for each in update["knowledge"][1]["excerpts"]] == ids


async def test_a_querys_retrieved_passages_come_before_its_written_one() -> None:
    state: Any = {
        "candidates": [Candidates(query="q", passage_ids=["b", "a"], scores=[2.0, 1.0])],
        "knowledge": [knowledge("q", "model:1")],
        "passages": [passage(key) for key in ("a", "b", "model:1")],
    }
    [entry] = (await mix_passages(state, node_runtime(Context())))["knowledge"]
    assert [each["passage_id"] for each in entry["excerpts"]] == ["b", "a", "model:1"]
