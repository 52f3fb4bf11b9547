"""Make a follow-up question standalone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.runtime import Runtime

from hopgraph.nodes.chat.route import METHOD_CALLS
from hopgraph.nodes.core.ask import ModelCall, ask, calls_of
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Update
from hopgraph.state.chat import ChatContext, ChatState
from hopgraph.state.events import QuestionCondensed
from hopgraph.tools.prompts import clean

LONGEST_SHOWN = 1_000
"""Maximum characters shown per message or answer of the history."""
MOST_SOURCES = 10
"""Maximum titles shown per answer."""
MOST_CONTEXT = 10
"""Maximum messages of agents and tools shown after the user's."""
HAND_BACK = "transfer_back_to_"
HAND_OFF_TOOLS = ("transfer_to_", HAND_BACK)
"""Prefixes of the tools with which one agent hands off to another."""


class StandAlone(ReplyModel):
    """A reply of the role `condense_question`."""

    question: ShortText


async def condense_question(state: ChatState, runtime: Runtime[ChatContext]) -> Update:
    """Rewrite the user's message as a standalone question; unchanged without context or a usable reply."""
    message, messages = state["question"], state["messages"]
    newest = newest_of_user(messages)
    turns = runtime.context.history_turns
    earlier = pair_turns(messages[:newest])[-turns:] if turns else []
    said_since = context_lines(messages[newest + 1 :])
    if not earlier and not said_since:
        return {}
    variables = {"history": [*history_lines(earlier), *said_since], "message": message}
    wanted = ModelCall("condense_question", variables, StandAlone, StandAlone(question=message))
    answered = await ask(runtime, state, wanted, reserve_calls=METHOD_CALLS)
    question = " ".join(clean(answered.record.question).split()) or message
    emit(runtime, QuestionCondensed(message=message, question=question, turns=len(earlier)))
    return {"question": question, "calls": calls_of([answered])}


def newest_of_user(messages: Sequence[BaseMessage]) -> int:
    """Return the index of the user's latest message; -1 if there is none.

    After a hand-off, messages of other agents and their tools follow it.
    """
    return max((number for number, each in enumerate(messages) if isinstance(each, HumanMessage)), default=-1)


def context_lines(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the latest messages of agents and tools as lines `Assistant: …` and `Tool: …`; empty if there are none."""
    kept = [each for each in messages if isinstance(each, AIMessage | ToolMessage) and not _is_hand_off(each)]
    lines = [("Tool" if isinstance(each, ToolMessage) else "Assistant", _shown(each.text)) for each in kept]
    return [f"{who}: {text}" for who, text in lines if text][-MOST_CONTEXT:]


def _is_hand_off(message: BaseMessage) -> bool:
    """Return whether a message only hands off to an agent, as written by langgraph-supervisor and langgraph-swarm."""
    if isinstance(message, ToolMessage):
        return (message.name or "").startswith(HAND_OFF_TOOLS)
    return isinstance(message, AIMessage) and any(call["name"].startswith(HAND_BACK) for call in message.tool_calls)


@dataclass
class MessageTurn:
    """A user message and the reply to it."""

    asked: str
    """The standalone question, if the turn has one."""
    said: str = ""
    """The answer without its marks and sources; empty if the turn was interrupted."""
    sources: list[str] = field(default_factory=list[str])
    """Titles of the cited passages, deduplicated."""


def pair_turns(messages: Sequence[BaseMessage]) -> list[MessageTurn]:
    """Pair the user's messages with the last replies to them, oldest first; messages of other types are skipped.

    Values in a reply's `additional_kwargs` are used only if they have the right type: a client can post any message.
    """
    turns: list[MessageTurn] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            turns.append(MessageTurn(_shown(message.text)))
        elif isinstance(message, AIMessage) and turns and not _is_hand_off(message):
            details = cast("Mapping[str, Any]", message.additional_kwargs)
            if not (details or message.text):
                continue  # a tool call
            turns[-1] = MessageTurn(
                asked=_text(details, "question") or turns[-1].asked,
                said=_text(details, "answer") or _shown(message.text),
                sources=_titles(details.get("citations")),
            )
    return turns


def history_lines(turns: Iterable[MessageTurn]) -> list[str]:
    """Return turns as lines `User: …` and `Assistant: … (sources: …; …)`; empty if there are none."""
    lines: list[str] = []
    for turn in turns:
        lines.append(f"User: {turn.asked}")
        sources = f" (sources: {'; '.join(turn.sources)})" if turn.sources else ""
        if turn.said:
            lines.append(f"Assistant: {turn.said}{sources}")
    return lines


def _shown(text: str) -> str:
    return " ".join(clean(text[:LONGEST_SHOWN]).split())


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return _shown(value) if isinstance(value, str) else ""


def _titles(citations: object) -> list[str]:
    if not isinstance(citations, list):
        return []
    records = [cast("Mapping[str, Any]", each) for each in cast("list[object]", citations) if isinstance(each, Mapping)]
    titles = [_text(each, "title") for each in records]
    return list(dict.fromkeys(title for title in titles if title))[:MOST_SOURCES]
