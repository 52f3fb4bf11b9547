"""A question becomes the root of a tree, and is broken down into parts."""

import json
from typing import Any

import pytest

from hopgraph.nodes.split import init_tree, split
from hopgraph.state.ra_isf import RaIsfContext
from support.node_inputs import node_runtime, on_branch, question_node, spent
from support.servers.scripted_model import ScriptedChatModel


def splitting() -> Any:
    tree = {"0": question_node("0", status="split"), "0.1": question_node("0.1")}
    return {"tree": tree, "branch": on_branch("0.1"), **spent()}


async def test_the_question_is_planted_as_an_open_root() -> None:
    update = await init_tree({"question": "Who?"}, node_runtime(RaIsfContext()))
    assert update["tree"] == {"0": question_node("0", question="Who?")}


async def test_parts_that_repeat_a_question_above_them_are_dropped() -> None:
    reply = json.dumps({"sub_questions": ["Question 0?", "Who?", "question 0.1", "Where?", "When?"]})
    settings = RaIsfContext(model=ScriptedChatModel(replies=[reply]), max_sub_questions=2)
    update = await split(splitting(), node_runtime(settings))
    assert {key: (node["status"], node["question"]) for key, node in update["tree"].items()} == {
        "0.1": ("split", "question 0.1?"),
        "0.1.1": ("open", "Who?"),
        "0.1.2": ("open", "Where?"),
    }
    assert [node["depth"] for node in update["tree"].values()] == [1, 2, 2]


@pytest.mark.parametrize(
    ("in_order", "part", "status"),
    [(True, "Where was #1 born?", "waiting"), (False, "Where was “Who” born?", "open")],
)
async def test_a_part_that_refers_to_another_waits_or_describes_it(in_order: bool, part: str, status: str) -> None:
    reply = json.dumps({"sub_questions": ["Who?", "Where was #1 born?", "When was #3?"]})
    order: Any = "in_order" if in_order else "side_by_side"
    settings = RaIsfContext(model=ScriptedChatModel(replies=[reply]), part_order=order)
    nodes = (await split(splitting(), node_runtime(settings)))["tree"].values()
    assert [(node["question"], node["status"]) for node in nodes][1:] == [
        ("Who?", "open"),
        (part, status),
        ("When was #3?", "open"),
    ]


@pytest.mark.parametrize(("settings", "how"), [({}, "unsolved"), ({"max_tokens": 1}, "budget")])
async def test_a_question_without_parts_is_unknown(settings: dict[str, Any], how: str) -> None:
    model = ScriptedChatModel(replies=lambda *_: '{"sub_questions": []}')
    update = await split(splitting(), node_runtime(RaIsfContext(model=model, **settings)))
    assert {key: (node["status"], node["how"]) for key, node in update["tree"].items()} == {"0.1": ("unknown", how)}
