"""A state in which what was spent is edited gives the run that goes on from it no more calls, tokens or seconds."""

import time
from contextlib import suppress
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Overwrite

from hopgraph.graphs import chat, migres
from hopgraph.state import ModelError, empty_call
from support.servers.scripted_model import ScriptedChatModel

NEVER = 3600.0
ASKED: dict[Any, Any] = {
    migres: {"question": "In which city was the director of the film Pan's Labyrinth born?"},
    chat: {"messages": [("user", "In which city was the director of the film Pan's Labyrinth born?")]},
}
STOPS = {migres: "retrieve", chat: "route"}
REFUND: Any = {**empty_call("model", "x"), "attempts": -100, "prompt_tokens": -(10**6), "completion_tokens": -(10**6)}
PAUSE: Any = {**empty_call("pause", "person"), "paused": [0.0, 1e12]}
LATER = time.time() + 1e6


def gone_on(method: Any, limits: dict[str, Any], written: dict[str, Any], latency: float = 0.0) -> tuple[Any, int]:
    """Stop a run at its beginning, edit its state, go on; returns the state, and how many calls the model got then."""
    model = ScriptedChatModel(replies=lambda _role, _messages: "what?", latency=latency)
    graph = method.build().compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    context = method.Context(model=model, **limits)
    graph.invoke(ASKED[method], thread, context=context, interrupt_before=[STOPS[method]])
    graph.update_state(thread, written)
    before = len(model.calls)
    with suppress(ModelError):  # which a chat without a usable reply is
        graph.invoke(None, thread, context=context)
    return graph.get_state(thread).values, len(model.calls) - before


@pytest.mark.parametrize("method", [migres, chat], ids=["migres", "chat"])
@pytest.mark.parametrize("limits", [{"max_llm_calls": 3}, {"max_tokens": 3_000}], ids=["calls", "tokens"])
@pytest.mark.parametrize("written", [{"calls": {"x": REFUND}}, {"calls": Overwrite({"x": REFUND})}])
def test_no_calls_are_given_back(method: Any, limits: dict[str, Any], written: dict[str, Any]) -> None:
    _, plain = gone_on(method, limits, {})
    assert gone_on(method, limits, written)[1] == plain
    assert plain <= limits.get("max_llm_calls", plain)


@pytest.mark.parametrize("method", [migres, chat], ids=["migres", "chat"])
@pytest.mark.parametrize("written", [{"started_at": LATER}, {"calls": {"x": PAUSE}}], ids=["later", "paused"])
def test_no_deadline_is_put_off(method: Any, written: dict[str, Any]) -> None:
    """The model never answers, so only the deadline ends the run."""
    found, _ = gone_on(method, {"deadline_seconds": 0.5}, written, latency=NEVER)
    assert found["stop_reason"] == "budget"
