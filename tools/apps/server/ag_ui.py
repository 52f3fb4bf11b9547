"""The chat for AG-UI front ends: POST a `RunAgentInput` and receive the run's events as they happen.

A run emits `RUN_STARTED`; for each step a `CUSTOM` event `hopgraph_step`, whose value is the step event, between the
`STEP_STARTED` and `STEP_FINISHED` of its node; the reply as one text message, with answer and citations in the
`metadata` of its first event, or of its last if the text was streamed; the same as a `STATE_SNAPSHOT`, added to the
client's own state; and `RUN_FINISHED`. A run that pauses for a review ends with an interrupt outcome and continues
with `resume`. A failure after the first event is a `RUN_ERROR`, an earlier one an HTTP error, each with one line; for
an unexpected error the line has only its type, and the rest is logged.

The events use the types of `ag-ui-protocol`, but not `ag-ui-langgraph`: its endpoint accepts any thread id as the
caller's own, writes the caller's `forwardedProps` into the graph's input, sends inner prompts and whole states as `RAW`
events, and passes the chat a context that its settings reject.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

from ag_ui.core import events as ag
from ag_ui.core.types import Interrupt, RunAgentInput
from ag_ui.encoder import EventEncoder
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.types import Command
from langgraph.types import Interrupt as GraphInterrupt
from pydantic import JsonValue, ValidationError

from hopgraph.nodes.core.human_review import question_of_others
from hopgraph.nodes.core.step_events import STEP_EVENT
from hopgraph.state import HopgraphError, SettingsError, StepEvent
from hopgraph.state.chat import AUTO, ChatContext
from hopgraph.state.errors import format_error
from hopgraph.tools.apps.server.document_sets import DocumentChoice, split_documents
from hopgraph.tools.apps.server.refusal import BusyError, QuotaError
from hopgraph.tools.apps.server.relay import KEEP_ALIVE, relay_steps, stream_events
from hopgraph.tools.apps.server.server_options import OWNER
from hopgraph.tools.apps.server.service import Service
from hopgraph.tools.apps.server.threads import NoRoomError, StorageError
from hopgraph.tools.apps.server.turn import TurnEnd, answer_payload, error_line, replace_surrogates, rest_of
from hopgraph.tools.io.redact import redact
from hopgraph.tools.text.sanitize import sanitize_line

AG_UI_PATH = "/ag-ui"

_OURS = "hopgraph"
_ENCODER = EventEncoder()
_STATUS: dict[type[Exception], int] = {
    BusyError: 429,
    SettingsError: 422,
    NoRoomError: 507,
    StorageError: 503,
    HopgraphError: 502,
    TimeoutError: 504,
    Exception: 500,
}
"""HTTP status by error class; the first match applies."""

ag_ui_router = APIRouter()


@ag_ui_router.post(AG_UI_PATH)
async def run_agent(request: Request) -> Response:
    """Run a turn of the chat on one of the user's threads."""
    service: Service = request.app.state.service
    seconds = service.options.turn_seconds
    try:
        run_input = RunAgentInput.model_validate_json(await request.body())
    except ValidationError as error:
        return _refusal(400, f"this is not a valid RunAgentInput: {format_error(error)}")
    user = request.scope.get("state", {}).get("user", OWNER)

    def describe_failure(error: Exception) -> str:
        return _ENCODER.encode(ag.RunErrorEvent(message=error_line(error, seconds), code=type(error).__name__))

    try:
        return await stream_events(request, _encode(_events(service, user, run_input)), describe_failure)
    except Exception as error:  # noqa: BLE001 - `error_line` logs unexpected ones
        status = next(status for kind, status in _STATUS.items() if isinstance(error, kind))
        again = isinstance(error, BusyError) and not isinstance(error, QuotaError)
        return _refusal(status, error_line(error, seconds), {"Retry-After": "1"} if again else {})


def _refusal(status: int, message: str, headers: Mapping[str, str] = {}) -> JSONResponse:
    return JSONResponse({"detail": redact(sanitize_line(message))}, status, headers)


async def _encode(events: AsyncGenerator[ag.BaseEvent | None]) -> AsyncGenerator[str]:
    async with aclosing(events):
        async for event in events:
            yield _ENCODER.encode(event) if event else KEEP_ALIVE


async def _events(service: Service, user: str, run_input: RunAgentInput) -> AsyncGenerator[ag.BaseEvent | None]:
    """Run the turn; yield its events, the first once it has started, and None after a long silence."""
    settings, documents = _settings(service, run_input)
    given = await _graph_input(service, user, run_input)
    turn = service.run_on_thread(user, run_input.thread_id, given, settings, documents)
    node, written = "", ""
    async with aclosing(relay_steps(turn, service.options.turn_seconds)) as steps:
        step = await anext(steps)
        yield ag.RunStartedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)
        while not isinstance(step, TurnEnd):
            if step is None:
                yield None
            elif step.text:
                if not written:
                    yield ag.TextMessageStartEvent(message_id=step.message_id, role="assistant")
                written += step.text
                yield ag.TextMessageContentEvent(message_id=step.message_id, delta=step.text)
            elif step.event:
                for event in _step_events(step.event, node):
                    yield event
                node = step.event["node"]
            step = await anext(steps)
        if node:
            yield ag.StepFinishedEvent(step_name=node)
        for event in () if step.paused else _reply_events(step, run_input, written):
            yield event
        # `RUN_FINISHED` is sent only when the thread accepts the next question.
        async for _ in steps:
            pass
    yield _run_finished(run_input, step.paused)


def _settings(service: Service, run_input: RunAgentInput) -> tuple[ChatContext, DocumentChoice]:
    """Read a turn's settings and documents from the forwarded props, ignoring all but `hopgraph`.

    Their form is `{"hopgraph": {"method": …, "documents": …, SETTING: …}}`.
    """
    props = run_input.forwarded_props
    system = "\n\n".join(str(each.content) for each in run_input.messages if each.role in ("system", "developer"))
    ours = cast("Mapping[str, Any]", props).get(_OURS) if isinstance(props, Mapping) else None
    if ours is not None and not isinstance(ours, Mapping):
        raise SettingsError(f"forwardedProps.{_OURS}: must be an object, e.g. {{'method': 'migres'}}")
    changes, documents = split_documents(cast("Mapping[str, JsonValue]", ours or {}))
    method = changes.pop("method", AUTO)
    if not isinstance(method, str):
        raise SettingsError(f"forwardedProps.{_OURS}.method: must be a method's name or {AUTO}")
    return service.settings(method, changes, system=system), documents


async def _graph_input(service: Service, user: str, run_input: RunAgentInput) -> Any:
    """Build the chat's input: the answers to its interrupts, or the messages that the thread lacks.

    A client sends its whole conversation. For a stored thread only the last message is used; if the thread already has
    it, the thread continues from there.
    """
    config = service.threads.config(user, run_input.thread_id)
    if given := run_input.resume:
        return Command(
            resume={each.interrupt_id: each.payload if each.status == "resolved" else "reject" for each in given}
        )
    messages = [message for each in run_input.messages if (message := _message(each))]
    if not messages or not isinstance(messages[-1], HumanMessage):
        raise SettingsError("the last message must have the role user")
    stored: Sequence[AnyMessage] = (await service.chat.aget_state(config)).values.get("messages", [])
    if not stored:
        return {"messages": messages}
    last, ids = messages[-1], [message.id for message in stored]
    later = ids[ids.index(last.id) + 1 :] if last.id in ids else []
    return {"messages": [*(RemoveMessage(id=each) for each in later if each), last]}


def _message(message: Any) -> BaseMessage | None:
    """Convert a message of the user or the assistant; None for other roles, which the chat ignores."""
    if message.role == "user":
        content = message.content
        text = content if isinstance(content, str) else "\n".join(part.text for part in content if part.type == "text")
        return HumanMessage(text, id=message.id)
    return AIMessage(message.content, id=message.id) if message.role == "assistant" and message.content else None


def _step_events(step: StepEvent, before: str) -> list[ag.BaseEvent]:
    """Return a step's event, preceded by `STEP_FINISHED` and `STEP_STARTED` if its node differs from `before`."""
    events: list[ag.BaseEvent] = []
    if before and step["node"] != before:
        events.append(ag.StepFinishedEvent(step_name=before))
    if step["node"] and step["node"] != before:
        events.append(ag.StepStartedEvent(step_name=step["node"]))
    return [*events, ag.CustomEvent(name=STEP_EVENT, value=replace_surrogates(step))]


def _reply_events(end: TurnEnd, run_input: RunAgentInput, written: str) -> list[ag.BaseEvent]:
    """Return the events of the reply's message, without the text streamed already (`written`), and of the state."""
    reply: AIMessage = end.state["messages"][-1]
    payload = answer_payload(end.state)
    message, state = str(reply.id), cast("Any", run_input.state)
    started = ag.TextMessageStartEvent(message_id=message, role="assistant", metadata={_OURS: payload})
    rest = rest_of(replace_surrogates(reply.text), written)
    return [
        *([] if written else [started]),
        *([ag.TextMessageContentEvent(message_id=message, delta=rest)] if rest else []),
        ag.TextMessageEndEvent(message_id=message, metadata={_OURS: payload} if written else None),
        ag.StateSnapshotEvent(snapshot={**(state if isinstance(state, Mapping) else {}), **payload}),
    ]


def _run_finished(run_input: RunAgentInput, paused: Sequence[GraphInterrupt]) -> ag.RunFinishedEvent:
    interrupts: list[Interrupt] = []
    for pause in paused:
        payload, message = replace_surrogates(pause.value), question_of_others(pause.value)
        reason = "question" if message else f"review_{payload['kind']}"
        message = replace_surrogates(message) or payload["instructions"]
        interrupts.append(Interrupt(id=pause.id, reason=reason, message=message, metadata={_OURS: payload}))
    outcome = ag.RunFinishedInterruptOutcome(interrupts=interrupts) if interrupts else None
    return ag.RunFinishedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id, outcome=outcome)
