"""Make a follow-up question stand alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from hopgraph.nodes.chat.route import METHOD_CALLS
from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Update
from hopgraph.state.chat import ChatContext, ChatState
from hopgraph.state.events import Contextualised
from hopgraph.tools.prompts import clean

LONGEST_SHOWN = 1_000
"""Characters of a message or an answer that are shown of the history."""
MOST_SOURCES = 10
"""Titles that are shown of one answer."""


class StandAlone(ReplyModel):
    """A reply of the role `contextualise`."""

    question: ShortText


async def contextualise(state: ChatState, runtime: Runtime[ChatContext]) -> Update:
    """Rewrite the user's message as a question that stands alone; without earlier turns or a reply it stays."""
    message = state["question"]
    earlier = pair_turns(state["messages"])[:-1][-runtime.context.history_turns or None :]
    if not earlier or not runtime.context.history_turns:
        return {}
    variables = {"history": history_lines(earlier), "message": message}
    wanted = Ask("contextualise", variables, StandAlone, StandAlone(question=message))
    answered = await ask(runtime, state, wanted, reserve_calls=METHOD_CALLS)
    question = " ".join(clean(answered.record.question).split()) or message
    emit(runtime, Contextualised(message=message, question=question, turns=len(earlier)))
    return {"question": question, "calls": calls_of([answered])}


@dataclass
class MessageTurn:
    """A message of the user's and what was said to it."""

    asked: str
    """As the question that stands alone, where the turn has one."""
    said: str = ""
    """The answer without its marks and sources; empty when the turn was interrupted."""
    sources: list[str] = field(default_factory=list[str])
    """Titles of the cited passages, each once."""


def pair_turns(messages: Sequence[BaseMessage]) -> list[MessageTurn]:
    """Pair the user's messages with the replies to them, oldest first; messages of other types are skipped.

    What a reply's `additional_kwargs` say is taken where it has the right type: a client can post any message.
    """
    turns: list[MessageTurn] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            turns.append(MessageTurn(_shown(message.text)))
        elif isinstance(message, AIMessage) and turns:
            details = cast("Mapping[str, Any]", message.additional_kwargs)
            turns[-1] = MessageTurn(
                asked=_text(details, "question") or turns[-1].asked,
                said=_text(details, "answer") or _shown(message.text),
                sources=_titles(details.get("citations")),
            )
    return turns


def history_lines(turns: Iterable[MessageTurn]) -> list[str]:
    """Write turns as lines `User: …` and `Assistant: … (sources: …; …)`; empty for none."""
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
