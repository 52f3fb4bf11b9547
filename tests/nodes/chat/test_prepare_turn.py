"""The start of a turn: the user's message and the settings are checked."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from hopgraph.nodes.chat.prepare_turn import prepare_turn
from hopgraph.state import QuestionError, SettingsError
from hopgraph.state.chat import ChatContext
from hopgraph.state.migres import MigresContext
from support.node_inputs import node_runtime

PREPARE = prepare_turn({"migres": MigresContext})


async def test_a_message_becomes_the_question_of_an_empty_turn() -> None:
    update = await PREPARE({"messages": [AIMessage("Hi"), HumanMessage(" Who? ")]}, node_runtime(ChatContext()))
    assert (update["question"], update["kind"], update["said"], update["answer"]) == ("Who?", None, "", "")
    assert "messages" not in update


@pytest.mark.parametrize(("text", "replaced"), [(" ", False), ("x" * 20_000, True)])
async def test_a_message_that_is_no_question_is_refused(text: str, replaced: bool) -> None:
    message = HumanMessage(text, id="m")
    update = await PREPARE({"messages": [message]}, node_runtime(ChatContext()))
    assert (update["question"], update["kind"]) == ("", "refused")
    assert update["said"].startswith("I cannot read this message: ")
    notes: Any = update.get("messages", [])
    assert [(note.id, note.text) for note in notes] == (
        [("m", "(a message of 20,000 characters, left out)")] if replaced else []
    )


async def test_the_users_newest_message_is_the_question_whatever_agents_said_since() -> None:
    call: Any = {"name": "transfer_to_hopgraph", "args": {}, "id": "1"}
    since = [AIMessage("", tool_calls=[call]), ToolMessage("Successfully transferred", tool_call_id="1")]
    messages: Any = [HumanMessage("Where?"), AIMessage("There."), HumanMessage("Who?"), *since]
    assert (await PREPARE({"messages": messages}, node_runtime(ChatContext())))["question"] == "Who?"


@pytest.mark.parametrize("messages", [[], [AIMessage("Ada"), ToolMessage("Ada", tool_call_id="1")]])
async def test_there_must_be_a_message_of_the_users(messages: Any) -> None:
    with pytest.raises(QuestionError, match="no message of the user's"):
        await PREPARE({"messages": messages}, node_runtime(ChatContext()))


async def test_settings_of_an_unknown_method_are_refused() -> None:
    settings = ChatContext(methods={"migrse": {}})
    with pytest.raises(SettingsError, match="method 'migrse' is unknown; a chat has: migres"):
        await PREPARE({"messages": [HumanMessage("Who?")]}, node_runtime(settings))
