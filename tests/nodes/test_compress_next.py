"""Passages compressed in rank order, until enough are relevant."""

from typing import Any

from hopgraph.nodes.compress import make_compress_next_node
from hopgraph.state import Candidates
from hopgraph.state.baselines import SummContext
from support.node_inputs import knowledge, model_call, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel

PASSAGES = [passage("a"), passage("b"), passage("c")]


def ranked(**fields: Any) -> Any:
    candidates = [Candidates(query="q", passage_ids=["a", "b", "c"], scores=[3.0, 2.0, 1.0])]
    state = {"candidates": candidates, "knowledge": [], "passages": PASSAGES, "read": 0, "stop_reason": None}
    return {**state, **spent(), **fields}


async def test_as_many_passages_are_read_as_are_missing() -> None:
    model = ScriptedChatModel(replies=['{"text": "irrelevant"}'])
    settings = SummContext(model=model, context_passages=2)
    state = ranked(knowledge=[knowledge("q", "a")], read=1)
    update = await make_compress_next_node("summarise")(state, node_runtime(settings))
    assert (update["read"], update["stop_reason"]) == (2, None)
    assert [each["passage_id"] for each in update["knowledge"][0]["excerpts"]] == ["a"]


async def test_what_the_budget_does_not_reach_stays_whole() -> None:
    settings = SummContext(model=ScriptedChatModel(replies=[]), max_llm_calls=1)
    state = ranked(**spent(model_call()))
    update = await make_compress_next_node("summarise")(state, node_runtime(settings))
    assert update["stop_reason"] == "budget"
    assert [(each["passage_id"], each["text"]) for each in update["knowledge"][0]["excerpts"]] == [
        ("a", ""),
        ("b", ""),
        ("c", ""),
    ]
