"""An answer from the answers to a question's parts, and the best effort of the last call."""

import json
from typing import Any

import pytest

from hopgraph.nodes.solve_question import at_hand, best_effort, compose
from hopgraph.state.ra_isf import RaIsfContext
from support.node_inputs import node_runtime, on_branch, passage, question_node, spent
from support.servers.scripted_model import ScriptedChatModel

PART = question_node("0.1", status="answered", how="passages", answer="Ada", passage_ids=["p"])


def composing(*parts: Any, passages: Any = ()) -> Any:
    tree = {each["id"]: each for each in (question_node("0", status="split"), *parts)}
    piece = {"id": "0.1", "statement": "s", "passage_ids": ["p", "model:0.1"], "quote": "", "verified": True}
    state = {"tree": tree, "branch": on_branch("0", "compose"), "evidence": [piece], "passages": list(passages)}
    state |= {"stop_reason": "budget", "question": "Question 0?"}
    return {**state, **spent()}


@pytest.mark.parametrize(
    ("reply", "settings", "status", "how"),
    [
        (json.dumps({"answer": "Lima"}), {}, "answered", "composed"),
        (json.dumps({"answer": "unanswerable"}), {}, "unknown", "unsolved"),
        ("", {"max_tokens": 1}, "unknown", "budget"),
    ],
)
async def test_a_question_is_composed_or_unknown(reply: str, settings: dict[str, Any], status: str, how: str) -> None:
    runtime = node_runtime(RaIsfContext(model=ScriptedChatModel(replies=[reply]), **settings))
    update = await compose(composing(PART, passages=[passage("p"), passage("model:0.1", source="model")]), runtime)
    assert (update["tree"]["0"]["status"], update["tree"]["0"]["how"]) == (status, how)


@pytest.mark.parametrize(("carry", "ids"), [(False, []), (True, ["p"])])
async def test_carried_passages_can_be_cited_and_own_knowledge_cannot(carry: bool, ids: list[str]) -> None:
    reply = json.dumps({"answer": "Lima", "used_passages": [1, 2]})
    settings = RaIsfContext(model=ScriptedChatModel(replies=[reply]), carry_evidence=carry)
    passages = [passage("p"), passage("model:0.1", source="model")]
    update = await compose(composing(PART, passages=passages), node_runtime(settings))
    assert [key for piece in update["evidence"] for key in piece["passage_ids"]] == ids


@pytest.mark.parametrize(
    ("parts", "passages", "used", "sources"),
    [
        ([PART], [passage("p", hop=2), passage("model:0.1", source="model")], ["0"], []),
        ([PART], [passage("p", hop=2), passage("model:0.1", source="model")], ["0.1"], []),
        ([], [passage("p"), passage("q", hop=2)], ["0"], []),
        ([], [], ["0"], ["model"]),
    ],
)
async def test_the_last_call_rests_on_parts_then_passages_then_own_knowledge(
    parts: list[Any], passages: list[Any], used: list[str], sources: list[str]
) -> None:
    reply = json.dumps({"answer": "Lima", "used_passages": [] if used == ["0.1"] else [1]})
    settings = RaIsfContext(model=ScriptedChatModel(replies=[reply]))
    state = composing(*parts, passages=passages)
    state["knowledge"] = [at_hand(state, settings)]
    update = await best_effort(state, node_runtime(settings))
    assert (update["answer"], update["used"], update["stop_reason"]) == ("Lima", used, "budget")
    assert [each["source"] for each in update["passages"]] == sources
