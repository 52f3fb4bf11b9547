"""The queries that are sampled for a hop."""

import json
from typing import Any

from hopgraph.nodes.write_queries import fuse_rankings, write_queries
from hopgraph.state import Candidates
from hopgraph.state.dsp import DspContext
from support.node_inputs import node_runtime, passage, spent
from support.walks import Script


async def asked(said: list[str], hop: int) -> Any:
    script = Script({"write_query": said})
    settings = DspContext(model=script.model(), queries_per_hop=len(said), parse_retries=0)
    state: Any = {"question": "Where?", "knowledge": [{"query": "q", "excerpts": []}] * (hop - 1), "passages": []}
    state |= {**spent(), "iteration": 1, "stop_reason": None}
    return await write_queries(state, node_runtime(settings))


async def test_a_query_is_kept_once_with_the_reason_of_its_first_sample() -> None:
    said = [json.dumps({"rationale": why, "query": text}) for why, text in [("one", "a  b"), ("", "c"), ("two", "a b")]]
    update = await asked([*said, "nothing"], hop=2)
    assert update["queries"] == [{"text": "a b", "why": "one"}, {"text": "c", "why": ""}]
    assert (update["sampled"], update["iteration"]) == ({"a b": 2, "c": 1}, 2)


async def test_without_a_usable_query_the_question_is_searched_for() -> None:
    update = await asked(["?"], hop=2)
    assert (update["queries"], update["sampled"]) == ([{"text": "Where?", "why": ""}], {})


async def test_the_largest_sums_are_kept_and_of_equal_ones_the_smaller_id() -> None:
    candidates = [
        Candidates(query="q", passage_ids=["b", "a"], scores=[2.0, 1.0]),
        Candidates(query="r", passage_ids=["a", "c"], scores=[1.0, 0.5]),
    ]
    state: Any = {
        "candidates": candidates,
        "sampled": {"q": 1},
        "knowledge": [],
        "passages": [passage(key) for key in "abc"],
    }
    update = await fuse_rankings(state, node_runtime(DspContext(passages_per_query=2)))
    [entry] = update["knowledge"]
    assert [(each["passage_id"], each["score"]) for each in entry["excerpts"]] == [("a", 2.0), ("b", 2.0)]
    assert [each["id"] for each in update["passages"].value] == ["a", "b"]


async def test_nothing_found_is_an_entry_without_excerpts() -> None:
    found = [Candidates(query="q", passage_ids=[], scores=[])]
    state: Any = {"candidates": found, "sampled": {}, "knowledge": [], "passages": []}
    update = await fuse_rankings(state, node_runtime(DspContext()))
    assert update["knowledge"] == [{"query": "q", "excerpts": []}]
