"""A part of a question, answered with the parts before it and with what was found for it."""

import json
from typing import Any

import pytest

from hopgraph.nodes.answer_in_turn import answer_in_turn, next_part, route_next_part
from hopgraph.nodes.question_tree.branch import only_branch
from hopgraph.state import Candidates, Context
from hopgraph.state.baselines import LeastToMostContext
from hopgraph.state.question_tree import DecomposingContext
from support.node_inputs import model_call, node_runtime, passage, question_node, spent
from support.servers.scripted_model import ScriptedChatModel

EARLIER = question_node("0.1", status="done", answer="Ada", how="known")


class Settings(DecomposingContext):
    method = "least_to_most"


@pytest.mark.parametrize(
    ("found", "earlier", "how"),
    [
        (["a"], True, "passages"),
        ([], True, "composed"),
        ([], False, "known"),
    ],
)
async def test_what_a_part_was_answered_from(found: list[str], earlier: bool, how: str) -> None:
    prompts: list[str] = []

    def reply(_role: str, messages: Any) -> str:
        prompts.append(messages[-1].text)
        return json.dumps({"answer": "Lima", "used_passages": [1]})

    nodes = [question_node("0"), *([EARLIER] if earlier else []), question_node("0.2")]
    state: Any = {
        "branch": only_branch("0.2", "solve"),
        "tree": {each["id"]: each for each in nodes},
        "candidates": [Candidates(query="q", passage_ids=found, scores=[1.0] * len(found))],
        "passages": [passage("a", "Lima it was.")],
        **spent(),
    }
    events: list[Any] = []
    settings = Settings(model=ScriptedChatModel(replies=reply))
    update = await answer_in_turn(state, node_runtime(settings, events))
    assert (update["tree"]["0.2"]["answer"], update["tree"]["0.2"]["how"]) == ("Lima", how)
    assert [each["event"] for each in events] == ["asked", "solved"]
    assert ("Lima it was." in prompts[0]) is bool(found)
    assert ("question 0.1? Ada" in prompts[0]) is earlier


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
    assert route_next_part(growing(root), LeastToMostContext(retrieval=retrieval)) == edge
