"""Run a method on real questions; also imported by a second process for independent runs."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from hopgraph.graphs import METHODS
from hopgraph.state import StepEvent
from hopgraph.state.events import event_order


async def _answered(method: str, given: dict[str, Any], context: Any) -> dict[str, Any]:
    """Run one question; return the final state and the ordered trace, without times."""
    events: list[StepEvent] = []
    state: dict[str, Any] = {}
    modes = ["custom", "values"]
    graph = METHODS[method].graph
    async for namespace, mode, chunk in graph.astream(given, context=context, stream_mode=modes, subgraphs=True):
        if mode == "custom":
            chunk["data"].pop("seconds", None)
            events.append(chunk)
        elif not namespace:
            state = chunk
    state.pop("started_at")
    return {"state": state, "trace": sorted(events, key=event_order)}


async def _ask_in(
    order: Sequence[int], at_once: int, method: str, given: Sequence[dict[str, Any]], retriever: str
) -> dict[int, bytes]:
    free = asyncio.Semaphore(at_once)
    context = METHODS[method].Context(retriever=retriever)

    async def one(number: int) -> tuple[int, bytes]:
        async with free:
            ran = await _answered(method, given[number], context)
        return number, json.dumps(ran, ensure_ascii=False).encode()

    return dict(await asyncio.gather(*(one(number) for number in order)))


def ask_in(
    order: Sequence[int], at_once: int, method: str, given: Sequence[dict[str, Any]], retriever: str
) -> dict[int, bytes]:
    """Ask questions in an order with limited concurrency; return state and trace by position in `given`."""
    return asyncio.run(_ask_in(order, at_once, method, given, retriever))
