"""Write the reply: the answer with numbered citations, or a plain statement that there is none."""

from collections.abc import Sequence
from typing import cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from hopgraph.nodes.core.compiled_method import AGENT_NAME
from hopgraph.nodes.core.marked_text import UNSUPPORTED, answer_text, escape_markup
from hopgraph.nodes.core.message_stream import is_streamed, push_text, reply_id
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.finish import total
from hopgraph.state import Citation, ModelError, StopReason, Update, Usage
from hopgraph.state.chat import ChatContext, ChatState, LookUpState
from hopgraph.state.events import Replied
from hopgraph.state.records import has_no_usable_reply
from hopgraph.tools.retrieval.passage_metadata import describe_location, name_citation

UNCITED = "No passage in the documents supports this; it is the model's own knowledge."
DOUBTS = f"{UNSUPPORTED} No passage in the documents is known to support this statement."
NO_USABLE_REPLY = (
    "no reply of the model could be used: it does not return the requested JSON; use a larger model, or a "
    "server that enforces schemas"
)
CUT_SHORT = "The search reached its budget; this is the best answer so far."


async def reply(state: ChatState, runtime: Runtime[ChatContext], config: RunnableConfig) -> Update:
    """Write the turn's only message and the turn's total `usage`.

    The message is written from its `additional_kwargs`, whose citations are in the order of their numbers.
    ModelError: the model gave no usable reply at all, so the result says nothing about the documents.
    """
    looked_up = state["chosen"] is not None
    usage = _sum(total(state["calls"].values(), iterations=0), state["usage"])
    if looked_up and not state["answer"] and has_no_usable_reply(usage):
        raise ModelError(NO_USABLE_REPLY)
    text = turn_text(state) if looked_up else escape_markup(state["said"])
    emit(runtime, Replied(text=text, citations=len(state["citations"])))
    details = {
        "question": state["question"] if looked_up else "",
        "answer": state["answer"],
        "markdown": state["markdown"],
        "citations": state["citations"],
        "method": state["chosen"] or "",
        "stop_reason": state["stop_reason"],
    }
    identity = reply_id(state)
    if is_streamed(identity):  # the answer; its sources follow
        push_text(identity, text.removeprefix(_answer(state)))
    name = "_".join(str((config.get("metadata") or {}).get(AGENT_NAME, "")).split()) or None  # OpenAI takes no spaces
    return {"messages": [AIMessage(text, id=identity, name=name, additional_kwargs=details)], "usage": usage}


def turn_text(state: LookUpState) -> str:
    """Return the result as text: the answer with its marks, then the sources they refer to."""
    if not state["answer"]:
        return not_found(escape_markup(state["question"]), state["stop_reason"])
    doubts = state["markdown"] and UNSUPPORTED in state["answer"]
    parts = [_answer(state), *remarks(state["citations"], state["stop_reason"], doubts=doubts)]
    parts.append("\n\n".join(_source(number, each) for number, each in enumerate(state["citations"], start=1)))
    return "\n\n".join(part for part in parts if part)


def _answer(state: LookUpState) -> str:
    return answer_text(state["answer"], len(state["citations"]), markdown=state["markdown"])


def remarks(citations: Sequence[Citation], reason: StopReason | None, *, doubts: bool = False) -> list[str]:
    """Return what a reader should know about an answer; empty for one that passages support."""
    said = [UNCITED] if not citations else []
    if doubts:
        said.append(DOUBTS)
    if reason == "budget":
        said.append(CUT_SHORT)
    return said


def not_found(question: str, reason: StopReason | None) -> str:
    """Say that there is no answer, quoting the question as it was asked."""
    if reason == "budget":
        return f"The search reached its budget before it found an answer to: {question}"
    return f"I found no answer in the documents to: {question}"


def _source(number: int, citation: Citation) -> str:
    own = citation["kind"] == "model"
    title = "the model's own knowledge" if own else escape_markup(name_citation(citation))
    place, quote = escape_markup(describe_location(citation)), escape_markup(citation["quote"])
    return f"[{number}] {title}" + (f" · {place}" if place else "") + (f": “{quote}”" if quote else "")


def _sum(one: Usage, other: Usage) -> Usage:
    both = cast("list[dict[str, int]]", [one, other])
    return cast("Usage", {name: sum(each[name] for each in both) for name in Usage.__annotations__})
