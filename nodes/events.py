"""Step events: what a node did, for anyone who watches (command line, chat page, evaluation trace)."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import Runtime
from pydantic import JsonValue

from hopgraph.state import StepEvent

_OUTER = "hopgraph_outer"
"""The metadata key under which a graph inside another finds the place of the task that runs it."""


@dataclass
class Place:
    """Where a node runs, and how many events and calls it has numbered."""

    node: str = ""
    step: int = 0
    """The superstep of the outermost graph."""
    path: str = ""
    """The task's path within that superstep, through the graphs in between."""
    taken: int = 0

    def take(self, count: int = 1) -> int:
        """Reserve numbers for `count` events, before they happen side by side; gives the first."""
        first = self.taken
        self.taken += count
        return first


_place: ContextVar[Place | None] = ContextVar("hopgraph_place", default=None)


@contextmanager
def placed() -> Generator[None]:
    """Give the node that runs inside a place of its own, read from LangGraph's metadata."""
    config = var_child_runnable_config.get() or {}
    metadata = config.get("metadata") or {}
    step, _, path = _whole_path(metadata).partition(":")
    token = _place.set(Place(str(metadata.get("langgraph_node", "")), int(step), path))
    try:
        yield
    finally:
        _place.reset(token)


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
    """Report a step event on the `custom` stream.

    Args:
        runtime: The node's runtime.
        event: What happened: query, retrieved, filtered, …
        number: The event's place among those of its node, if it was reserved; else the next.
        data: What is known about it: ids, texts and numbers; plain JSON.
    """
    where = place()
    runtime.stream_writer(
        StepEvent(
            event=event,
            node=where.node,
            step=where.step,
            path=where.path,
            number=where.take() if number is None else number,
            data=data,
        )
    )


def event_order(event: StepEvent) -> tuple[int, str, int]:
    """Sort key of a trace: step, task path, number; the same in every run."""
    return event["step"], event["path"], event["number"]
