"""Turns read from messages, and the history that prompts show."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from hopgraph.nodes.chat.condense_question import (
    LONGEST_SHOWN,
    MOST_CONTEXT,
    MOST_SOURCES,
    MessageTurn,
    context_lines,
    history_lines,
    newest_of_user,
    pair_turns,
)
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


def hand_off(name: str, said: str = "") -> list[BaseMessage]:
    call: Any = {"name": name, "args": {}, "id": "1"}
    return [AIMessage(said, tool_calls=[call]), ToolMessage("Transferred", name=name, tool_call_id="1")]


def test_hand_offs_are_no_context_and_no_reply() -> None:
    back = hand_off("transfer_back_to_supervisor", "Transferring back to supervisor")
    searched = ToolMessage("She lived in London.", name="search", tool_call_id="2")
    said = [*hand_off("transfer_to_hopgraph"), searched, AIMessage("It was Ada."), *back]
    assert context_lines(said) == ["Tool: She lived in London.", "Assistant: It was Ada."]
    assert context_lines([*hand_off("transfer_to_hopgraph"), *back]) == []
    assert pair_turns([HumanMessage("Who?"), *said]) == [MessageTurn("Who?", "It was Ada.")]
    assert len(context_lines([AIMessage("So.")] * 50)) == MOST_CONTEXT
    assert newest_of_user([HumanMessage("Who?"), *said]) == 0
    assert newest_of_user(said) == -1


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
