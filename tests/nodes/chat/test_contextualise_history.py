"""Turns read from messages, and the history that prompts show."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from hopgraph.nodes.chat.contextualise import LONGEST_SHOWN, MOST_SOURCES, MessageTurn, history_lines, pair_turns
from support.node_inputs import citation


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
