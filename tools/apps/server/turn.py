"""One run of the chat as it happens: its steps, then its end and result."""

import json
import logging
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt, StreamMode
from typing_extensions import TypedDict

from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.hosted_graph import RUN_GRAPH
from hopgraph.nodes.core.message_stream import ID_PREFIX
from hopgraph.state import Citation, HopgraphError, Passage, StepEvent, Usage
from hopgraph.state.chat import ChatContext
from hopgraph.state.records import StopReason
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.narration import Narrator
from hopgraph.tools.io.redact import redact
from hopgraph.tools.text.sanitize import sanitize_line

ValueT = TypeVar("ValueT")
_PLACE = re.compile(
    r"(?P<address>\b(?:https?|wss?|postgres(?:ql)?|file)://[^\s'\"`,;)]*[^\s'\"`,;:).])"
    r"|(?<![\w/.<])(?:~|\b[A-Za-z]:)?[\\/][\w.][^\s'\"`,;:)]*(?: [^\s'\"`,;:)/\\]*[\\/][^\s'\"`,;:)]*)*"
)
_PLACED = ("model", "problem")  # event fields that may contain paths or addresses of the server
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TurnStep:
    """A step of a run."""

    lines: Sequence[Line] = ()
    """New lines, about this step and earlier ones; may be empty."""
    event: StepEvent | None = None
    passages: Sequence[Passage] = ()  # all that the run has read so far
    text: str = ""  # the next piece of a streamed reply
    message_id: str = ""  # of that reply


@dataclass(frozen=True)
class TurnEnd(TurnStep):
    """The end of a run."""

    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The graph's final state; without a checkpointer, only the keys of its input and output schemas."""
    paused: tuple[Interrupt, ...] = ()
    """Pending reviews, ordered by id; empty if the run is complete."""


async def run_turn(
    graph: CompiledMethod, given: Any, config: RunnableConfig, context: ChatContext
) -> AsyncGenerator[TurnStep]:
    """Run the chat; yield each step as it happens, then a `TurnEnd`.

    `given` is its input, a `Command` that answers its interrupts, or None to resume; `config` names the thread of a
    graph with a checkpointer. Closing the generator cancels the run.
    """
    modes: list[StreamMode] = ["custom", "values", *_messages_mode(context)]
    narrator, state, paused = Narrator(), dict[str, Any](), list[Interrupt]()
    stream: Any = graph.astream(given, config, context=context, stream_mode=modes, subgraphs=True)
    try:
        async with aclosing(stream):
            async for namespace, mode, chunk in stream:
                if mode == "custom":
                    event = _public(chunk)
                    yield TurnStep(narrator.add_event(event), event)
                elif mode == "messages":
                    message = chunk[0]
                    if isinstance(message, AIMessageChunk) and str(message.id).startswith(ID_PREFIX):
                        yield TurnStep(text=replace_surrogates(message.text), message_id=str(message.id))
                # An external graph's state has its own keys.
                elif not any(part.startswith(f"{RUN_GRAPH}:") for part in namespace):
                    if chunk.get("passages"):
                        yield TurnStep(narrator.add_passages(chunk["passages"]), passages=chunk["passages"])
                    if not namespace:
                        paused += chunk.get("__interrupt__", ())
                        state = chunk
    except Exception:
        if lines := narrator.flush():  # steps before the failure
            yield TurnStep(lines)
        raise
    yield TurnEnd(narrator.flush(), state=state, paused=tuple(sorted(paused, key=lambda each: each.id)))


def _messages_mode(context: ChatContext) -> list[StreamMode]:
    """Return the stream mode for messages if answers may be longer than short ones; only these are streamed."""
    every = [context.answer_type, *(each.get("answer_type") for each in context.methods.values())]
    return ["messages"] if any(each in ("sentence", "full", "auto") for each in every) else []


def hide_places(text: str) -> str:
    """Replace the server's addresses and absolute paths, which callers must not see."""
    return _PLACE.sub(lambda found: "[address]" if found["address"] else "[path]", text)


def _public(step: StepEvent) -> StepEvent:
    hidden = {name: hide_places(value) for name in _PLACED if isinstance(value := step["data"].get(name), str)}
    return {**step, "data": {**step["data"], **hidden}} if hidden else step


def error_line(error: BaseException, seconds: float = 0) -> str:
    """Return in one line why a turn failed, without paths; the full error is logged."""
    if isinstance(error, HopgraphError):
        line = redact(sanitize_line(str(error)))
        if (public := hide_places(line)) != line:
            _log.warning("%s", line)
        return public
    if isinstance(error, TimeoutError):
        return f"the answer took longer than {seconds:g} seconds and was stopped"
    _log.error("a turn failed", exc_info=error)
    return unexpected_line(error)


def unexpected_line(error: BaseException) -> str:
    """Return the line for an unexpected error."""
    return f"internal error ({type(error).__name__}); see the app's log"


def rest_of(text: str, written: str) -> str:
    """Return the part of a reply not yet written; all of it, after a blank line, if something else was written."""
    return text.removeprefix(written) if text.startswith(written) else f"\n\n{text}"


class AnswerPayload(TypedDict):
    """The answer and its citations, without the passages read."""

    answer: str
    """A short answer, or a sentence or text with marks, depending on `answer_type`; empty if there is none."""
    markdown: bool  # whether it is Markdown (inert), as full answers are
    explanation: str  # the model's reasoning; may be empty
    citations: list[Citation]
    """Passages that support the answer, in the order of the marks [1], [2] in the text."""
    method: str
    """The method used; empty if nothing was looked up, as for small talk."""
    stop_reason: StopReason | None  # None if nothing was looked up
    usage: Usage


def answer_payload(state: Mapping[str, Any]) -> AnswerPayload:
    """Extract the result from the final state of the chat."""
    found = {name: state[name] for name in ("answer", "markdown", "explanation", "citations", "stop_reason", "usage")}
    return replace_surrogates(AnswerPayload(**found, method=state["chosen"] or ""))


def replace_surrogates(value: ValueT) -> ValueT:
    """Replace lone surrogates with `?`: a model may send them, and no JSON encoder accepts them."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
