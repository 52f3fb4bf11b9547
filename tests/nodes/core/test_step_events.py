"""Step events: LangChain callbacks receive them in order, and a trace has one order."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict, override

from hopgraph.graphs import chat, migres
from hopgraph.nodes.core import step_events
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.core.step_events import STEP_EVENT, emit
from hopgraph.state import Context, QuestionInput, StepEvent
from hopgraph.state.events import Event, QuerySent, event_order
from hopgraph.state.reducers import merge_ids

QUESTION: QuestionInput = {"question": "In which city was the director of the film Pan's Labyrinth born?"}


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


class Told(Event, kind="told"):
    name: str


class InnerState(TypedDict):
    name: str
    told: Annotated[list[str], merge_ids]


class InnerOutput(TypedDict):
    told: Annotated[list[str], merge_ids]


async def tell(state: InnerState, runtime: Runtime[Context]) -> dict[str, Any]:
    emit(runtime, Told(name=state["name"]))
    return {"told": [state["name"]]}


async def begin(_state: InnerState, runtime: Runtime[Context]) -> dict[str, Any]:
    emit(runtime, Told(name="begin"))
    return {}


async def end(_state: InnerState, runtime: Runtime[Context]) -> dict[str, Any]:
    emit(runtime, Told(name="end"))
    return {}


def nested() -> Any:
    inner = MethodGraph(InnerState, Context, output_schema=InnerOutput)
    inner.add_node("first", tell)
    inner.add_node("second", tell)
    inner.add_edge(START, "first")
    inner.add_edge("first", "second")
    inner.add_edge("second", END)
    outer = MethodGraph(InnerState, Context)
    outer.add_node("begin", begin)
    outer.add_node("inner", inner.compile(name="inner"))
    outer.add_node("end", end)
    outer.add_edge(START, "begin")
    outer.add_conditional_edges(
        "begin", lambda _: [Send("inner", {"name": f"n{number}"}) for number in range(12)], ["inner"]
    )
    outer.add_edge("inner", "end")
    outer.add_edge("end", END)
    return outer.compile(name="outer")


async def test_steps_of_parallel_subgraphs_stand_together_and_between_those_around_them() -> None:
    names = [f"n{number}" for number in range(12) for _ in range(2)]
    expected = ["begin", *names, "end"]
    given_: Any = {"name": "x", "told": []}
    sync: list[StepEvent] = [event for _, event in nested().stream(given_, stream_mode="custom", subgraphs=True)]
    awaited: list[StepEvent] = [
        event async for _, event in nested().astream(given_, stream_mode="custom", subgraphs=True)
    ]
    for events in (sync, awaited):
        ordered = sorted(events, key=event_order)
        assert [event["data"]["name"] for event in ordered] == expected
        assert len({event_order(event) for event in ordered}) == len(ordered)
    assert sorted(map(event_order, sync)) == sorted(map(event_order, awaited))


def test_the_order_holds_inside_somebody_elses_graph() -> None:
    host: Any = StateGraph(InnerState)
    host.add_node("before", lambda _: {})
    host.add_node("ours", nested())
    host.add_edge(START, "before")
    host.add_edge("before", "ours")
    host.add_edge("ours", END)
    events: list[StepEvent] = [
        event for _, event in host.compile().stream({"name": "x", "told": []}, stream_mode="custom", subgraphs=True)
    ]
    names = [event["data"]["name"] for event in sorted(events, key=event_order)]
    assert names == ["begin", *(f"n{number}" for number in range(12) for _ in range(2)), "end"]
