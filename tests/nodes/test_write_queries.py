"""The queries that are sampled for a hop."""

import json
from typing import Any

from hopgraph.nodes.generate_queries import write_queries
from hopgraph.state.baselines import DspContext
from support.node_inputs import node_runtime, spent
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
    assert update["queries"] == [{"text": "a b", "why": "one"}, {"text": "c", "why": ""}, {"text": "Where?", "why": ""}]
    assert (update["sampled"], update["iteration"]) == ({"a b": 2, "c": 1}, 2)


async def test_without_a_usable_query_the_question_is_searched_for() -> None:
    update = await asked(["?"], hop=2)
    assert (update["queries"], update["sampled"]) == ([{"text": "Where?", "why": ""}], {})
