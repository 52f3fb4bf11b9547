"""A part of a question, answered from its own passages and the answers before it."""

import json
from typing import Any

from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.read_hop import make_read_hop_node
from hopgraph.state.baselines import GenReadContext
from support.node_inputs import knowledge, model_call, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


def part(*passages: str, **fields: Any) -> Any:
    first = {**open_hop(1, "Who?"), "answer": "Ada", "grounded": True}
    return {
        "question": "Is it so?",
        "hops": [first, open_hop(2, "Where?")],
        "knowledge": [knowledge("Where?", *passages)],
        "passages": [passage("a")],
        "stop_reason": None,
        **spent(),
        **fields,
    }


async def test_the_open_part_is_answered_with_what_it_asks_for() -> None:
    model = ScriptedChatModel(replies=[json.dumps({"answer": "Lima", "used_passages": [1]})])
    update = await make_read_hop_node()(part("a"), node_runtime(GenReadContext(model=model, answer_type="yes_no")))
    assert [(hop["number"], hop["answer"], hop["grounded"]) for hop in update["hops"]] == [
        (1, "Ada", True),
        (2, "Lima", True),  # never yes or no
    ]
    assert [(each["id"], each["passage_ids"]) for each in update["evidence"]] == [("2.1.1", ["a"])]
    [call] = model.calls
    assert "Who? Ada" in call.messages[-1].text.split("<sub_answers>")[1]


async def test_a_part_without_passages_is_not_asked_about() -> None:
    model = ScriptedChatModel(replies=[])
    update = await make_read_hop_node()(part(), node_runtime(GenReadContext(model=model)))
    assert ([hop["answer"] for hop in update["hops"]], model.calls) == (["Ada", ""], [])


async def test_a_budget_that_ends_leaves_the_part_without_an_answer() -> None:
    settings = GenReadContext(model=ScriptedChatModel(replies=[]), max_llm_calls=1)
    update = await make_read_hop_node()(part("a", **spent(model_call())), node_runtime(settings))
    assert ([hop["answer"] for hop in update["hops"]], update["stop_reason"]) == (["Ada", ""], "budget")
