"""Step events as LangChain's custom events: for callback handlers that take them, in order, and for nobody else."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langgraph.graph import END, START
from langgraph.runtime import Runtime
from typing_extensions import override

from hopgraph.graphs import chat, migres
from hopgraph.nodes.core import step_events
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.core.step_events import STEP_EVENT, emit
from hopgraph.state import Context, QuestionInput, StepEvent
from hopgraph.state.events import QuerySent, event_order

QUESTION = {"question": "In which city was the director of the film Pan's Labyrinth born?"}


class Listener(BaseCallbackHandler):
    def __init__(self) -> None:
        self.heard: list[StepEvent] = []

    @override
    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        assert name == STEP_EVENT
        self.heard.append(data)


class SlowListener(AsyncCallbackHandler):
    """One whose first events take it longest."""

    def __init__(self) -> None:
        self.heard: list[StepEvent] = []

    @override
    async def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        await asyncio.sleep(0.02 / (1 + len(self.heard)))
        self.heard.append(data)


def told(heard: Sequence[StepEvent]) -> list[tuple[Any, ...]]:
    """What each event says, but for the seconds that it took."""
    return [(*event_order(event), event["event"], event["node"]) for event in heard]


@pytest.fixture(scope="module")
def streamed() -> list[StepEvent]:
    return list(migres.graph.stream(QUESTION, stream_mode="custom"))


class Runs(BaseCallbackHandler):
    """Counts the runs that callbacks are told of, by name."""

    def __init__(self) -> None:
        self.begun = Counter[str]()

    @override
    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.begun[kwargs["name"]] += 1


async def test_a_node_is_one_run(streamed: list[StepEvent]) -> None:
    steps = {(event["node"], event["step"]) for event in streamed}
    decided = sum(node == "decide" for node, _ in steps)
    awaited, called = Runs(), Runs()
    await migres.graph.ainvoke(QUESTION, {"callbacks": [awaited]})
    await asyncio.to_thread(migres.graph.invoke, QUESTION, {"callbacks": [called]})
    assert awaited.begun == called.begun
    assert awaited.begun["decide"] == decided > 0
    assert awaited.begun["prepare"] == awaited.begun["finish"] == 1


@pytest.mark.parametrize("kind", [Listener, SlowListener])
async def test_listeners_hear_what_the_stream_gives(kind: Any, streamed: list[StepEvent]) -> None:
    listener = kind()
    await migres.graph.ainvoke(QUESTION, {"callbacks": [listener]})
    assert told(listener.heard) == told(streamed)


@pytest.mark.parametrize("kind", [Listener, SlowListener])
def test_so_they_do_where_no_loop_runs(kind: Any, streamed: list[StepEvent]) -> None:
    listener = kind()
    migres.graph.invoke(QUESTION, {"callbacks": [listener]})
    assert told(listener.heard) == told(streamed)


async def test_astream_events_has_them_and_nothing_of_the_inner_models() -> None:
    given = {"messages": [("user", QUESTION["question"])]}
    heard: list[Any] = [each async for each in chat.graph.astream_events(given, version="v2")]
    steps = [each["data"] for each in heard if each["event"] == "on_custom_event"]
    assert [step["event"] for step in steps][-2:] == ["answered", "replied"]
    assert not [each for each in heard if each["event"] == "on_chat_model_stream"]


async def test_nothing_is_dispatched_for_handlers_that_take_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*given: Any, **more: Any) -> None:
        raise AssertionError("dispatched to nobody")

    class Ignorant(Listener):
        ignore_custom_event = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    monkeypatch.setattr(step_events, "adispatch_custom_event", refused)
    ignorant = Ignorant()
    await migres.graph.ainvoke(QUESTION, {"callbacks": [BaseCallbackHandler(), AsyncCallbackHandler(), ignorant]})
    assert not ignorant.heard


async def test_what_came_before_a_failure_is_heard() -> None:
    async def fail(state: QuestionInput, runtime: Runtime[Context]) -> Mapping[str, Any]:
        emit(runtime, QuerySent(query=state["question"], why="", hop=1))
        raise ValueError("it failed")

    builder = MethodGraph(QuestionInput, Context)
    builder.add_node("prepare", fail)
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", END)
    listener = SlowListener()
    with pytest.raises(ValueError, match="it failed"):
        await builder.compile(name="Fails").ainvoke(QUESTION, {"callbacks": [listener]})
    assert [event["event"] for event in listener.heard] == ["query"]
