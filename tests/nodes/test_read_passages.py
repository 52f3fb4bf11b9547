"""The answer to a hop's question, read off its passages."""

import json
from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.read_hop import make_read_hop_node, observe
from hopgraph.state import Candidates
from hopgraph.state.genground import GengroundContext
from support.node_inputs import node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel

READ = make_read_hop_node(key="candidates", alone=True, edits=True)


def reading(*keys: str) -> Any:
    found = Candidates(query="Who?", passage_ids=list(keys), scores=[1.0] * len(keys))
    hop = open_hop(2, "Who?", generated="Bob")
    passages = [passage("a", "Cats purr."), passage("b", "It was by Ada.")]
    return {"question": "Where?", "hops": [hop], "candidates": [found], "passages": passages, **spent()}


@pytest.mark.parametrize(
    ("reply", "settings", "answer", "ids", "reason"),
    [
        ({"answer": "Ada", "used_passages": [2]}, {}, "Ada", ["b"], None),
        ({"answer": "Ada", "used_passages": [7]}, {}, "Ada", [], None),
        ({"answer": "unanswerable"}, {}, "Bob", [], None),
        ({}, {"max_tokens": 1}, "Bob", [], "budget"),
    ],
)
async def test_the_generated_answer_is_kept_where_the_passages_give_none(
    reply: dict[str, Any], settings: dict[str, Any], answer: str, ids: list[str], reason: str | None
) -> None:
    runtime: Any = node_runtime(GengroundContext(model=ScriptedChatModel(replies=[json.dumps(reply)]), **settings))
    update = await READ(reading("a", "b"), runtime)
    hop = update["hops"][-1]
    assert (hop["answer"], hop["grounded"], hop["passage_ids"]) == (answer, bool(ids), ids)
    assert hop["quote"] == ("It was by Ada." if ids else "")
    assert update.get("stop_reason") == reason


async def test_nothing_retrieved_takes_no_call() -> None:
    runtime: Any = node_runtime(GengroundContext(model=ScriptedChatModel(replies=[])))
    assert (await READ(reading(), runtime))["hops"][-1]["answer"] == "Bob"


async def test_an_observation_is_what_the_search_found() -> None:
    assert (await observe(reading("b", "a")))["hops"][-1]["passage_ids"] == ["b", "a"]
