"""A follow-up made to stand alone, within what is said before it and what can be afforded."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from hopgraph.nodes.chat.contextualise import (
    LONGEST_SHOWN,
    MOST_SOURCES,
    MessageTurn,
    contextualise,
    history_lines,
    pair_turns,
)
from hopgraph.state.chat import ChatContext
from support.node_inputs import citation, node_runtime, spent
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
    update = await contextualise(message(*HISTORY[:2]), node_runtime(ChatContext(model=model, parse_retries=0)))
    assert update["question"] == question
    assert "Mary Shelley." in model.calls[0].messages[-1].text


@pytest.mark.parametrize(("earlier", "turns"), [([], 5), (HISTORY[:2], 0)])
async def test_without_earlier_turns_nothing_is_asked(earlier: list[Any], turns: int) -> None:
    settings = ChatContext(model=ScriptedChatModel(replies=[]), history_turns=turns)
    assert await contextualise(message(*earlier), node_runtime(settings)) == {}


def test_turns_pair_messages_with_what_was_said() -> None:
    told = {"question": "Who painted it?", "answer": "Ada", "citations": [citation("A", "q"), citation("A", "q")]}
    messages = [
        AIMessage("Welcome"),
        HumanMessage("Who?"),
        ToolMessage("x", tool_call_id="1"),
        AIMessage("Ada [1]\n\n[1] A: “q”", additional_kwargs=told),
        HumanMessage([{"type": "text", "text": "broken  off"}]),
        HumanMessage("Hi"),
        AIMessage("Hello!"),
    ]
    turns = pair_turns(messages)
    assert turns == [
        MessageTurn("Who painted it?", "Ada", ["A"]),
        MessageTurn("broken off"),
        MessageTurn("Hi", "Hello!"),
    ]
    assert history_lines(turns) == [
        "User: Who painted it?",
        "Assistant: Ada (sources: A)",
        "User: broken off",
        "User: Hi",
        "Assistant: Hello!",
    ]
    assert history_lines([]) == []


def test_the_history_is_cut() -> None:
    told: dict[str, Any] = {"citations": [{"title": f"Title {number}"} for number in range(50)]}
    turn = pair_turns([HumanMessage("x" * 10_000), AIMessage("y" * 10_000, additional_kwargs=told)])[0]
    assert len(turn.asked) == len(turn.said) == LONGEST_SHOWN
    assert len(turn.sources) == MOST_SOURCES


@pytest.mark.parametrize(
    "told",
    [{}, {"question": 1, "answer": None, "citations": "x"}, {"citations": [1, None, {"title": [2]}, {}]}],
)
def test_what_a_client_forges_is_passed_over(told: dict[str, Any]) -> None:
    assert pair_turns([HumanMessage("Who?"), AIMessage("Ada", additional_kwargs=told)]) == [MessageTurn("Who?", "Ada")]
