"""Emit step events to LangGraph's `custom` stream, and to callback handlers of LangChain's custom events."""

import asyncio
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, adispatch_custom_event
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from hopgraph.state import Event, StepEvent
from hopgraph.state.events import UnknownEvent
from hopgraph.tools.io.runnables import callback_handlers

_OUTER = "hopgraph_outer"
"""The metadata key under which a nested graph finds the position of the task that runs it."""


STEP_EVENT = "hopgraph_step"
"""The name of step events among other custom events."""

_INHERITED = (BaseCallbackHandler.on_custom_event, AsyncCallbackHandler.on_custom_event)
"""The methods of a handler that does not override `on_custom_event`."""


@dataclass
class Listeners:
    """The callback handlers of a node's run that accept custom events, dispatched one after another."""

    config: RunnableConfig
    waiting: deque[StepEvent] = field(default_factory=deque[StepEvent])
    dispatching: asyncio.Task[None] | None = None

    def dispatch(self, event: StepEvent) -> None:
        """Queue an event behind earlier ones, without waiting."""
        self.waiting.append(event)
        if self.dispatching is None or self.dispatching.done():
            self.dispatching = asyncio.create_task(self._dispatch_all())

    async def drain(self) -> None:
        """Wait until every event has been dispatched."""
        if self.dispatching is not None:
            await self.dispatching

    async def _dispatch_all(self) -> None:
        while self.waiting:
            await adispatch_custom_event(STEP_EVENT, self.waiting.popleft(), config=self.config)


@dataclass
class Position:
    """Where a node runs, and how many events and calls it has numbered."""

    node: str = ""
    step: int = 0
    """The superstep of the outermost graph."""
    path: str = ""
    """The task's path within that superstep, through the graphs in between."""
    reserve_calls: int | None = None
    """Model calls that the node leaves for later nodes, as the graph declares; None if nothing follows."""
    reserved: int = 0
    listeners: Listeners | None = None
    """Callback handlers that get its events in addition to the stream; None if none accepts them."""

    def next_numbers(self, count: int = 1) -> int:
        """Reserve numbers for `count` events before they happen concurrently, and return the first."""
        first = self.reserved
        self.reserved += count
        return first


_position: ContextVar[Position | None] = ContextVar("hopgraph_position", default=None)


@contextmanager
def node_position(config: RunnableConfig, reserve_calls: int | None = None) -> Generator[Position]:
    """Set the position of the node that runs inside, read from LangGraph's metadata."""
    metadata = config.get("metadata") or {}
    step, _, path = _whole_path(metadata).partition(":")
    here = Position(
        str(metadata.get("langgraph_node", "")), int(step), path, reserve_calls, listeners=_listeners(config)
    )
    token = _position.set(here)
    try:
        yield here
    finally:
        _position.reset(token)


def _listeners(config: RunnableConfig) -> Listeners | None:
    """Return the run's listeners; None if no callback handler accepts custom events."""
    listening = any(
        not each.ignore_custom_event and type(each).on_custom_event not in _INHERITED
        for each in callback_handlers(config)
    )
    return Listeners(config) if listening else None


def parent_task_metadata(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata from which a subgraph's tasks learn the outer task that runs them; empty if there is none.

    LangGraph's own identifiers of that task change from run to run, and a subgraph counts its supersteps from 1 again.
    """
    return {_OUTER: _whole_path(metadata)} if "langgraph_node" in metadata else {}


def _whole_path(metadata: Mapping[str, Any]) -> str:
    """Return a task's path from the outermost graph inwards: superstep, node, `Send` number."""
    numbers = [f"{part:04}" for part in metadata.get("langgraph_path", ()) if type(part) is int]
    task = "/".join([str(metadata.get("langgraph_node", "")), *numbers])
    own = f"{int(metadata.get('langgraph_step', 0)):05}:{task}"
    return f"{metadata[_OUTER]}|{own}" if _OUTER in metadata else own


def current_position() -> Position:
    """Return the position of the running node; one without a name outside a graph."""
    return _position.get() or Position()


def emit(runtime: Runtime[Any], event: Event, *, number: int | None = None) -> None:
    """Report a step event; `number` is its reserved number among the node's events, else the next one is used."""
    where = current_position()
    kind, data = (event.name, event.data) if isinstance(event, UnknownEvent) else (event.event, dict(vars(event)))
    step = StepEvent(
        event=kind,
        node=where.node,
        step=where.step,
        path=where.path,
        number=where.next_numbers() if number is None else number,
        data=data,
    )
    runtime.stream_writer(step)
    if where.listeners is not None:
        where.listeners.dispatch(step)
