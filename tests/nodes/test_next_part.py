"""The next question of a tree that is answered part by part."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from hopgraph.nodes.next_part import next_part, route_next_part
from hopgraph.state import Context
from hopgraph.state.baselines import LeastToMostContext
from support.node_inputs import model_call, node_runtime, question_node, spent


def growing(root: dict[str, Any], *parts: Any, calls: int = 0) -> Any:
    nodes = [question_node("0", **root), *parts]
    return {"tree": {each["id"]: each for each in nodes}, "stop_reason": None, **spent(model_call(attempts=calls))}


ANSWERED = question_node("0.1", status="answered", how="passages", answer="Ada", passage_ids=["p"])


async def test_a_part_is_looked_up_with_the_answers_before_it() -> None:
    state = growing({"status": "split"}, ANSWERED, question_node("0.2"), question_node("0.3"))
    update = await next_part(state, node_runtime(Context()))
    assert (update["branch"]["id"], update["branch"]["step"], update["iteration"]) == ("0.2", "solve", 2)
    assert update["queries"] == [{"text": "question 0.2? Ada", "why": "question 0?"}]
    assert update["tree"] == {}


async def test_after_the_parts_the_question_itself_is_answered() -> None:
    update = await next_part(growing({"status": "split"}, ANSWERED), node_runtime(Context()))
    assert (update["branch"]["id"], update["branch"]["step"]) == ("0", "compose")
    assert update["queries"] == [{"text": "question 0? Ada", "why": ""}]


async def test_the_last_call_is_for_the_question() -> None:
    state = growing({"status": "split"}, question_node("0.1"), calls=2)
    update = await next_part(state, node_runtime(Context(max_llm_calls=3)))
    assert {key: (node["status"], node["how"]) for key, node in update["tree"].items()} == {
        "0.1": ("unknown", "budget")
    }
    assert update["branch"]["id"] == "0"


@pytest.mark.parametrize(("own", "used"), [([], ["0.1"]), (["q"], ["0.1", "0"])])
async def test_a_settled_question_rests_on_its_parts_and_its_own_passages(own: list[str], used: list[str]) -> None:
    root = {"status": "answered", "how": "composed", "answer": "Lima", "passage_ids": own}
    update = await next_part(growing(root, ANSWERED), node_runtime(Context()))
    assert (update["answer"], update["used"], update["stop_reason"]) == ("Lima", used, "answered")


@pytest.mark.parametrize(
    ("root", "retrieval", "edge"),
    [
        ({}, True, "whole"),
        ({"status": "split"}, True, "look up"),
        ({"status": "split"}, False, "from knowledge"),
        ({"status": "answered", "how": "composed"}, True, "settled"),
    ],
)
def test_what_follows_the_choice_of_a_part(root: dict[str, Any], retrieval: bool, edge: str) -> None:
    assert route_next_part(growing(root), Runtime(context=LeastToMostContext(retrieval=retrieval))) == edge
