"""Step events: what a node did, for anyone who watches (command line, chat page, evaluation trace).

They go to LangGraph's stream, mode `custom`. Where a callback handler takes LangChain's custom events, as that of
`astream_events` does, it is told, too; where there is none, that costs nothing.
"""

import asyncio
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, adispatch_custom_event
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import Runtime
from pydantic import JsonValue

from hopgraph.state import StepEvent

_OUTER = "hopgraph_outer"
"""The metadata key under which a graph inside another finds the place of the task that runs it."""


STEP_EVENT = "hopgraph_step"
"""The name of step events among other custom events."""

_DEAF = (BaseCallbackHandler.on_custom_event, AsyncCallbackHandler.on_custom_event)
"""What a handler that takes no custom events has inherited."""


@dataclass
class Listeners:
    """The callback handlers of a node's run that take custom events, told one event after the other."""

    config: RunnableConfig
    waiting: deque[StepEvent] = field(default_factory=deque[StepEvent])
    telling: asyncio.Task[None] | None = None

    def tell(self, event: StepEvent) -> None:
        """Tell them an event, after those before it; nobody waits for it here."""
        self.waiting.append(event)
        if self.telling is None or self.telling.done():
            self.telling = asyncio.create_task(self._tell_all())

    async def told(self) -> None:
        """Wait until they were told everything."""
        if self.telling is not None:
            await self.telling

    async def _tell_all(self) -> None:
        while self.waiting:
            await adispatch_custom_event(STEP_EVENT, self.waiting.popleft(), config=self.config)


@dataclass
class Place:
    """Where a node runs, and how many events and calls it has numbered."""

    node: str = ""
    step: int = 0
    """The superstep of the outermost graph."""
    path: str = ""
    """The task's path within that superstep, through the graphs in between."""
    taken: int = 0
    listeners: Listeners | None = None
    """Who is told of its events beside the stream; None for nobody."""

    def take(self, count: int = 1) -> int:
        """Reserve numbers for `count` events, before they happen side by side; gives the first."""
        first = self.taken
        self.taken += count
        return first


_place: ContextVar[Place | None] = ContextVar("hopgraph_place", default=None)


@contextmanager
def placed() -> Generator[Place]:
    """Give the node that runs inside a place of its own, read from LangGraph's metadata."""
    config = var_child_runnable_config.get() or {}
    metadata = config.get("metadata") or {}
    step, _, path = _whole_path(metadata).partition(":")
    here = Place(str(metadata.get("langgraph_node", "")), int(step), path, listeners=_listeners(config))
    token = _place.set(here)
    try:
        yield here
    finally:
        _place.reset(token)


def _listeners(config: RunnableConfig) -> Listeners | None:
    """Find out whether a handler among a run's callbacks takes custom events."""
    callbacks = config.get("callbacks")
    handlers = callbacks if isinstance(callbacks, list) else callbacks.handlers if callbacks else ()
    heard = any(not each.ignore_custom_event and type(each).on_custom_event not in _DEAF for each in handlers)
    return Listeners(config) if heard else None


def outer_place(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Make the metadata that tells the tasks of a graph which task of an outer graph runs it; empty for none.

    A graph inside another counts its supersteps from 1 again, and its tasks do not know which of several
    parallel tasks they belong to; what LangGraph tells them of it changes from run to run.
    """
    return {_OUTER: _whole_path(metadata)} if "langgraph_node" in metadata else {}


def _whole_path(metadata: Mapping[str, Any]) -> str:
    """Write where a task runs: from the outermost graph inwards, the superstep, the node, its `Send` number."""
    numbers = [f"{part:04}" for part in metadata.get("langgraph_path", ()) if type(part) is int]
    task = "/".join([str(metadata.get("langgraph_node", "")), *numbers])
    own = f"{int(metadata.get('langgraph_step', 0)):05}:{task}"
    return f"{metadata[_OUTER]}|{own}" if _OUTER in metadata else own


def place() -> Place:
    """Get the place of the running node; one without a name outside a graph."""
    return _place.get() or Place()


def emit(runtime: Runtime[Any], event: str, *, number: int | None = None, **data: JsonValue) -> None:
    """Report a step event on the `custom` stream, and to callback handlers that take custom events.

    Args:
        runtime: The node's runtime.
        event: What happened: query, retrieved, filtered, …
        number: The event's place among those of its node, if it was reserved; else the next.
        data: What is known about it: ids, texts and numbers; plain JSON.
    """
    where = place()
    happened = StepEvent(
        event=event,
        node=where.node,
        step=where.step,
        path=where.path,
        number=where.take() if number is None else number,
        data=data,
    )
    runtime.stream_writer(happened)
    if where.listeners is not None:
        where.listeners.tell(happened)


def event_order(event: StepEvent) -> tuple[int, str, int]:
    """Sort key of a trace: step, task path, number; the same in every run."""
    return event["step"], event["path"], event["number"]
