"""A part of a question, answered with the parts before it and with what was found for it."""

import json
from typing import Any

import pytest

from hopgraph.nodes.answer_in_turn import answer_in_turn
from hopgraph.nodes.question_tree.branch import only_branch
from hopgraph.state import Candidates
from hopgraph.state.question_tree import DecomposingContext
from support.node_inputs import node_runtime, passage, question_node, spent
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
