"""Rankings of several queries as one."""

from typing import Any

import pytest

from hopgraph.nodes.selection import fuse_query_rankings
from hopgraph.state import Candidates
from hopgraph.state.baselines import DspContext
from support.node_inputs import knowledge, node_runtime, passage


async def test_the_largest_sums_are_kept_and_of_equal_ones_the_smaller_id() -> None:
    candidates = [
        Candidates(query="q", passage_ids=["b", "a"], scores=[2.0, 1.0]),
        Candidates(query="r", passage_ids=["a", "c"], scores=[1.0, 0.5]),
    ]
    state: Any = {
        "candidates": candidates,
        "sampled": {"q": 1},
        "queries": [{"text": "q", "why": "It is needed."}],
        "iteration": 1,
        "knowledge": [],
        "passages": [passage(key) for key in "abc"],
    }
    update = await fuse_query_rankings(state, node_runtime(DspContext(top_k=2)))
    [entry] = update["knowledge"]
    assert [(each["passage_id"], each["score"]) for each in entry["excerpts"]] == [("a", 2.0), ("b", 2.0)]
    assert [each["id"] for each in update["passages"].value] == ["a", "b"]


async def test_nothing_found_is_an_entry_without_excerpts() -> None:
    found = [Candidates(query="q", passage_ids=[], scores=[])]
    state: Any = {"candidates": found, "sampled": {}, "knowledge": [], "passages": []}
    state |= {"queries": [{"text": "q", "why": ""}], "iteration": 1}
    update = await fuse_query_rankings(state, node_runtime(DspContext()))
    assert update["knowledge"] == [{"query": "q", "excerpts": []}]


@pytest.mark.parametrize(("context", "shown"), [("last_hop", ["model:2", "b"]), ("all_hops", ["a", "b"])])
async def test_a_later_hop_replaces_what_was_kept_or_adds_to_it(context: Any, shown: list[str]) -> None:
    found = [Candidates(query="q", passage_ids=["b"], scores=[2.0])]
    state: Any = {"candidates": found, "sampled": {"q": 1}, "knowledge": [knowledge("p", "a")], "iteration": 2}
    state |= {"queries": [{"text": "q", "why": "It is needed."}]}
    state |= {"passages": [passage("a", hop=1), passage("b", hop=2), passage("c", hop=2)]}
    update = await fuse_query_rankings(state, node_runtime(DspContext(context=context)))
    assert [each["passage_id"] for entry in update["knowledge"] for each in entry["excerpts"]] == shown
    assert [each["id"] for each in update["passages"].value if each["source"] != "model"] == ["a", "b"]
