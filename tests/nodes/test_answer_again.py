"""ITER-RETGEN's turns: a turn's answer, and the next turn's query."""

import json
from typing import Any

import pytest

from hopgraph.nodes.reading import answer_again, extend_query
from hopgraph.state.baselines import IterRetgenContext
from support.node_inputs import knowledge, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


def turn(**fields: Any) -> Any:
    found = {"knowledge": [knowledge("q", "a")], "passages": [passage("a")]}
    return {"question": "Where?", "answer": "", "iteration": 1, "stop_reason": None, **found, **spent(), **fields}


def replying(**reply: Any) -> IterRetgenContext:
    return IterRetgenContext(model=ScriptedChatModel(replies=[json.dumps(reply)]))


async def test_a_turn_writes_its_answer_and_the_text_of_the_next_query() -> None:
    state = turn(iteration=2)
    update = await answer_again(state, node_runtime(replying(reasoning="So.", answer="Lima", used_passages=[1])))
    assert (update["answer"], update["generated"], update["stop_reason"]) == ("Lima", "So. Lima", "answered")
    assert [(each["id"], each["passage_ids"]) for each in update["evidence"]] == [("2.1.1", ["a"])]
    state |= update
    after = await extend_query(state)
    assert ([each["text"] for each in after["queries"]], after["iteration"]) == (["So. Lima Where?"], 3)


@pytest.mark.parametrize(("earlier", "kept"), [("Oslo", True), ("", False)])
async def test_a_turn_without_an_answer_leaves_the_one_before(earlier: str, kept: bool) -> None:
    update = await answer_again(turn(answer=earlier), node_runtime(replying(reasoning="Hm.", answer="unanswerable")))
    assert update["generated"] == "Hm."
    assert ("answer" not in update) is kept
    assert update["stop_reason"] == ("answered" if kept else "unanswerable")
