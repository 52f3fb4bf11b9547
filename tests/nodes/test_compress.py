"""Passages that a model cuts down."""

from typing import Any

from hopgraph.nodes.compress import compress
from hopgraph.state.migres import MigresContext
from support.node_inputs import knowledge, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel

PASSAGES = [passage("a"), passage("b"), passage("c")]


async def test_the_models_text_takes_the_place_of_a_passage_and_irrelevant_ones_go() -> None:
    events: list[Any] = []
    state: Any = {"knowledge": [knowledge("q", "a", "b")], "passages": PASSAGES, **spent()}
    model = ScriptedChatModel(replies=['{"text": "Short."}', '{"text": "Irrelevant."}'])
    update = await compress(state, node_runtime(MigresContext(model=model, compression="summary"), events))
    [entry] = update["knowledge"]
    assert [(each["passage_id"], each["text"], each["spans"]) for each in entry["excerpts"]] == [("a", "Short.", [])]
    [event] = [each["data"] for each in events if each["event"] == "compressed"]
    assert event == {
        "query": "q",
        "how": "summarise",
        "passages_in": 2,
        "kept": [{"passage_id": "a", "text": "Short."}],
    }
