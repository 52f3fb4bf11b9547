"""A follow-up made to stand alone, within what is said before it and what can be afforded."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from hopgraph.nodes.chat.contextualise import condense_question
from hopgraph.state.chat import ChatContext
from support.node_inputs import node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel

HISTORY = [HumanMessage("Who wrote Frankenstein?"), AIMessage("Mary Shelley."), HumanMessage("And her mother?")]


def message(*earlier: Any) -> Any:
    return {"question": "And her mother?", "messages": [*earlier, HISTORY[-1]], **spent()}


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ('{"question": "Who was Mary\\nShelley\'s mother?"}', "Who was Mary Shelley's mother?"),
        ("?", "And her mother?"),
    ],
)
async def test_a_follow_up_stands_alone_or_stays_as_it_is(reply: str, question: str) -> None:
    model = ScriptedChatModel(replies=[reply])
    update = await condense_question(message(*HISTORY[:2]), node_runtime(ChatContext(model=model, parse_retries=0)))
    assert update["question"] == question
    assert "Mary Shelley." in model.calls[0].messages[-1].text


@pytest.mark.parametrize(("earlier", "turns"), [([], 5), (HISTORY[:2], 0)])
async def test_without_earlier_turns_nothing_is_asked(earlier: list[Any], turns: int) -> None:
    settings = ChatContext(model=ScriptedChatModel(replies=[]), history_turns=turns)
    assert await condense_question(message(*earlier), node_runtime(settings)) == {}
