"""GenGround's one hop: the question itself, with an answer from own knowledge."""

from typing import Any

import pytest

from hopgraph.nodes.read_hop import answer_from_memory
from hopgraph.state.genground import GengroundContext
from support.node_inputs import model_call, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


@pytest.mark.parametrize(("reply", "generated"), [('{"answer": "Lima"}', "Lima"), ('{"answer": "unanswerable"}', "")])
async def test_the_question_is_the_only_hop(reply: str, generated: str) -> None:
    state: Any = {"question": "Where?", **spent()}
    update = await answer_from_memory(state, node_runtime(GengroundContext(model=ScriptedChatModel(replies=[reply]))))
    assert [(hop["number"], hop["question"], hop["generated"]) for hop in update["hops"]] == [(1, "Where?", generated)]
    assert "stop_reason" not in update


async def test_a_budget_that_ends_is_said() -> None:
    state: Any = {"question": "Where?", **spent(model_call())}
    settings = GengroundContext(model=ScriptedChatModel(replies=[]), max_llm_calls=1)
    update = await answer_from_memory(state, node_runtime(settings))
    assert (update["hops"][0]["generated"], update["stop_reason"]) == ("", "budget")
