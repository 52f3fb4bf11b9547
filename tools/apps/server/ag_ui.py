"""The chat for front ends that speak AG-UI: one POST of `RunAgentInput`, and the run's events as they happen.

A run gives `RUN_STARTED`; for each step a `CUSTOM` event `hopgraph_step`, whose value is the step event, between the
`STEP_STARTED` and `STEP_FINISHED` of its node; the reply as one text message, with answer and citations in the
`metadata` of its first event; the same as a `STATE_SNAPSHOT`, beside what the client's own state holds; and
`RUN_FINISHED`. A run that pauses for a review ends with an interrupt outcome, and goes on with `resume`. A failure
after the first event is a `RUN_ERROR` of one line, one before it an HTTP error with that line; of an error that nobody
foresaw the line names only the kind, and the rest is logged.

The events are written here, with the types of `ag-ui-protocol`, and not by `ag-ui-langgraph`: its endpoint takes any
thread id for the caller's own, writes what the caller sends as `forwardedProps` into the graph's input, sends inner
prompts and whole states along as `RAW` events, and hands the chat a context that its settings refuse.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

from ag_ui.core.events import (
    BaseEvent,
    CustomEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from ag_ui.core.types import Interrupt, RunAgentInput
from ag_ui.encoder import EventEncoder
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.types import Command
from langgraph.types import Interrupt as Pause
from pydantic import JsonValue, ValidationError

from hopgraph.nodes.core.step_events import STEP_EVENT
from hopgraph.state import HopgraphError, SettingsError, StepEvent
from hopgraph.state.chat import ChatContext
from hopgraph.tools.apps.server.admission import BusyError
from hopgraph.tools.apps.server.databases import StorageError
from hopgraph.tools.apps.server.relay import IDLE_SECONDS, EventStream, relayed, while_connected
from hopgraph.tools.apps.server.server_options import OWNER
from hopgraph.tools.apps.server.service import AUTO, Service
from hopgraph.tools.apps.server.turn import Learnt, TurnEnd, said_of
from hopgraph.tools.apps.server.turn_result import answered, encodable
from hopgraph.tools.io.redact import redact
from hopgraph.tools.text.sanitize import sanitize_line

AG_UI_PATH = "/ag-ui"

_OURS = "hopgraph"
"""The key of `forwardedProps` under which a client may set `method` and the settings of a turn."""


def ag_ui_routes(service: Callable[[Request], Service]) -> APIRouter:
    """Make the endpoint.

    Args:
        service: finds the open service of a request.
    """
    router = APIRouter()

    @router.post(AG_UI_PATH)
    async def run(request: Request) -> Response:
        """Run a turn of the chat on one of the user's threads."""
        try:
            wanted = RunAgentInput.model_validate_json(await request.body())
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            return _refusal(400, f"this is no RunAgentInput: {where + ': ' if where else ''}{first['msg']}")
        user = request.scope.get("state", {}).get("user", OWNER)
        events = _events(service(request), user, wanted)
        try:
            # A turn that cannot begin is refused by the status of the reply, which must be known before its body.
            first = await while_connected(request, anext(events))
        except Exception as error:  # noqa: BLE001 - `said_of` logs what nobody foresaw
            said = said_of(error, service(request).options.turn_seconds)
            return _refusal(_status(error), said, {"Retry-After": "1"} if isinstance(error, BusyError) else None)
        if first is None:  # the client has left
            await events.aclose()
            return Response(status_code=499)
        return EventStream(_encoded(first, events, service(request)))

    return router


def _refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": redact(sanitize_line(message))}, status, headers)


def _status(error: Exception) -> int:
    match error:
        case BusyError():
            return 429
        case SettingsError():
            return 422
        case StorageError():
            return 503
        case HopgraphError():
            return 502
        case TimeoutError():
            return 504
        case _:
            return 500


async def _encoded(first: BaseEvent, events: AsyncGenerator[BaseEvent | None], service: Service) -> AsyncGenerator[str]:
    """Write events for the wire; a run that fails ends with an event that says so."""
    encoder = EventEncoder()
    async with aclosing(events):
        yield encoder.encode(first)
        try:
            async for event in events:
                yield encoder.encode(event) if event else ": still at work\n\n"
        except Exception as error:  # noqa: BLE001 - `said_of` logs what nobody foresaw
            said = said_of(error, service.options.turn_seconds)
            yield encoder.encode(RunErrorEvent(message=said, code=type(error).__name__))


async def _events(service: Service, user: str, wanted: RunAgentInput) -> AsyncGenerator[BaseEvent | None]:
    """Run the turn; the first event comes when it has begun, and None where there is nothing to tell for long.

    Raises:
        HopgraphError: it cannot begin, or fails. TimeoutError: it takes longer than a turn may.
    """
    settings = _settings(service, wanted.forwarded_props)
    turn = service.on_thread(user, wanted.thread_id, await _given(service, user, wanted), settings)
    node, paused = "", ()
    async with aclosing(relayed(turn, service.options.turn_seconds, IDLE_SECONDS)) as steps:
        step = await anext(steps)
        yield RunStartedEvent(thread_id=wanted.thread_id, run_id=wanted.run_id)
        while not isinstance(step, TurnEnd):
            if step is None:
                yield None
            elif not isinstance(step, Learnt):
                for event in _step_events(step, node):
                    yield event
                node = step["node"]
            step = await anext(steps)
        if node:
            yield StepFinishedEvent(step_name=node)
        for event in _reply_events(step, wanted):
            yield event
        paused = step.paused
        # The run ends when its thread can be asked again.
        async for _ in steps:
            pass
    yield _finished(wanted, paused)


def _settings(service: Service, props: Any) -> ChatContext:
    """Read the settings of a turn: `{"hopgraph": {"method": …, SETTING: …}}`; what else is forwarded is not ours.

    Raises:
        SettingsError: an unknown method or setting, or one that is not the caller's.
    """
    ours = cast("Mapping[str, Any]", props).get(_OURS) if isinstance(props, Mapping) else None
    if ours is not None and not isinstance(ours, Mapping):
        raise SettingsError(f"forwardedProps.{_OURS}: write an object, as {{'method': 'migres'}}")
    changes = dict(cast("Mapping[str, JsonValue]", ours or {}))
    method = changes.pop("method", AUTO)
    if not isinstance(method, str):
        raise SettingsError(f"forwardedProps.{_OURS}.method: write a method's name, or {AUTO}")
    return service.settings(method, changes)


async def _given(service: Service, user: str, wanted: RunAgentInput) -> Any:
    """Read what the chat is given: answers to what it paused for, or the messages that its thread lacks.

    A client sends its whole conversation each time. Of a thread that is kept here only the new message is taken;
    if the user's last message is an earlier one, the thread goes on from there.

    Raises:
        SettingsError: the thread's id is not taken, or the last message is not the user's.
    """
    config = service.threads.config(user, wanted.thread_id)
    if wanted.resume:
        answers = {each.interrupt_id: each.payload if each.status == "resolved" else "reject" for each in wanted.resume}
        return Command(resume=answers)
    messages = [message for each in wanted.messages if (message := _message(each))]
    if not messages or not isinstance(messages[-1], HumanMessage):
        raise SettingsError("the last message is not the user's; send one of role user")
    kept: Sequence[AnyMessage] = (await service.chat.aget_state(config)).values.get("messages", [])
    if not kept:
        return {"messages": messages}
    ids = [message.id for message in kept]
    last = messages[-1]
    later = ids[ids.index(last.id) + 1 :] if last.id in ids else []
    return {"messages": [*(RemoveMessage(id=each) for each in later if each), last]}


def _message(message: Any) -> BaseMessage | None:
    """Read a message of the user's or the assistant's; None for others, which are not the chat's."""
    if message.role == "user":
        content = message.content
        text = content if isinstance(content, str) else "\n".join(part.text for part in content if part.type == "text")
        return HumanMessage(text, id=message.id)
    return AIMessage(message.content, id=message.id) if message.role == "assistant" and message.content else None


def _step_events(step: StepEvent, before: str) -> list[BaseEvent]:
    """Write a step, and where another node than `before` did it, that this one has ended and the other begun."""
    events: list[BaseEvent] = []
    if before and step["node"] != before:
        events.append(StepFinishedEvent(step_name=before))
    if step["node"] and step["node"] != before:
        events.append(StepStartedEvent(step_name=step["node"]))
    return [*events, CustomEvent(name=STEP_EVENT, value=encodable(step))]


def _reply_events(end: TurnEnd, wanted: RunAgentInput) -> list[BaseEvent]:
    """Write the reply; none where the run has paused."""
    if end.paused:
        return []
    reply: AIMessage = end.state["messages"][-1]
    found = answered(end.state, end.state["chosen"] or "")
    message, state = str(reply.id), cast("Any", wanted.state)
    return [
        TextMessageStartEvent(message_id=message, role="assistant", metadata={_OURS: found}),
        TextMessageContentEvent(message_id=message, delta=encodable(reply.text)),
        TextMessageEndEvent(message_id=message),
        StateSnapshotEvent(snapshot={**(state if isinstance(state, Mapping) else {}), **found}),
    ]


def _finished(wanted: RunAgentInput, paused: Sequence[Pause]) -> RunFinishedEvent:
    finished = RunFinishedEvent(thread_id=wanted.thread_id, run_id=wanted.run_id)
    if paused:
        finished.outcome = RunFinishedInterruptOutcome(interrupts=[_interrupt(each) for each in paused])
    return finished


def _interrupt(pause: Pause) -> Interrupt:
    shown = cast("Mapping[str, Any]", encodable(pause.value))
    return Interrupt(
        id=pause.id, reason=f"review_{shown['kind']}", message=shown["instructions"], metadata={_OURS: dict(shown)}
    )
