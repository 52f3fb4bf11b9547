"""Nodes and routers of one's own take what `StateGraph` takes, and what nothing is given to is refused at once."""

import asyncio
import inspect
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

import pytest
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.cache.memory import InMemoryCache
from langgraph.config import get_config
from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import CachePolicy, Command, Send, StreamWriter
from pydantic import BaseModel
from typing_extensions import TypedDict

from hopgraph.nodes.core.answer_graph import AnswerGraph
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.state import Context, MethodState, SettingsError


class State(TypedDict, total=False):
    question: str
    answer: str


class Tone(Context):
    """Settings of a test."""


def check(state: Any, config: Any = None, runtime: Any = None, writer: Any = None, store: Any = None) -> Any:
    """Check what was given of a kind; gives the update."""
    assert state == {"question": "who?"}
    assert config is None or config["configurable"]["thread_id"] == "1"
    assert runtime is None or (isinstance(runtime, Runtime) and isinstance(runtime.context, Tone))
    assert store is None or isinstance(store, InMemoryStore)
    if writer:
        writer({"written": True})
    return {"answer": "seen"}


def only_state(state: State) -> Any:
    return check(state)


def with_config(state: State, config: RunnableConfig) -> Any:
    return check(state, config=config)


def with_untyped_config(state, config) -> Any:  # type: ignore[no-untyped-def] # pyright: ignore
    return check(state, config=config)


def with_runtime(state: State, runtime: Runtime[Tone]) -> Any:
    return check(state, runtime=runtime)


def with_keywords(state: State, *, writer: StreamWriter, store: BaseStore, config: RunnableConfig) -> Any:
    return check(state, config, writer=writer, store=store)


async def awaited(state: State, config: RunnableConfig, *, runtime: Runtime[Tone]) -> Any:
    await asyncio.sleep(0)
    return check(state, config, runtime)


async def awaited_state(state: State) -> Any:
    return check(state)


def with_more(more: str, state: State, config: RunnableConfig, often: int = 3) -> Any:
    assert (more, often) == ("more", 3)
    return check(state, config)


def with_own_config(state: State, config: int = 3) -> Any:
    assert config == 3
    return check(state)


class CallableNode:
    def __call__(self, state: State, runtime: Runtime[Tone]) -> Any:
        return check(state, runtime=runtime)


class AwaitableNode:
    async def __call__(self, state: State, config: RunnableConfig) -> Any:
        return check(state, config)

    async def method(self, state: State, runtime: Runtime[Tone]) -> Any:
        return check(state, runtime=runtime)


KINDS: list[Any] = [
    only_state,
    with_config,
    with_untyped_config,
    with_runtime,
    with_keywords,
    awaited,
    awaited_state,
    partial(with_more, "more"),
    partial(awaited),
    CallableNode(),
    AwaitableNode(),
    AwaitableNode().method,
    lambda state: check(state),
    RunnableLambda(only_state),
    lambda state: awaited_state(state),  # as a decorator may
    lambda state: RunnableLambda(only_state),
    with_own_config,
]


def graph_of(node: Any = awaited_state, router: Any = None, state: Any = State, context: Any = Tone) -> Any:
    """Compile a graph of a node and, if there is a router, what it leads to."""
    builder = MethodGraph(state, context)
    builder.add_node("mine", node).add_edge(START, "mine")
    if router:
        builder.add_node("left", lambda state: {"answer": "left"}).add_edge("left", END)
        builder.add_conditional_edges("mine", router, {"left": "left", "right": END})
    else:
        builder.add_edge("mine", END)
    return builder.compile(store=InMemoryStore())


CONFIG: Any = {"configurable": {"thread_id": "1"}}


async def both(graph: Any, **options: Any) -> Any:
    """Run a graph in async and in sync code, with the same result."""
    found = await graph.ainvoke({"question": "who?"}, CONFIG, **options)
    assert await asyncio.to_thread(graph.invoke, {"question": "who?"}, CONFIG, **options) == found
    return found


@pytest.mark.parametrize("node", KINDS, ids=range(len(KINDS)))
async def test_a_node_takes_what_it_names(node: Any) -> None:
    assert (await both(graph_of(node)))["answer"] == "seen"


async def test_a_writer_writes_to_the_stream() -> None:
    written = [
        each async for each in graph_of(with_keywords).astream({"question": "who?"}, CONFIG, stream_mode="custom")
    ]
    assert written == [{"written": True}]


@pytest.mark.parametrize("kind", KINDS, ids=range(len(KINDS)))
async def test_a_router_takes_what_it_names(kind: Any) -> None:
    async def awaited_router(state: State, runtime: Runtime[Tone], config: RunnableConfig) -> str:
        return "left" if check(state, config, runtime) else "right"

    router: Any = Router(kind)
    if isinstance(kind, RunnableLambda):
        router = RunnableLambda(lambda _: "left", name="always")
    elif inspect.iscoroutinefunction(kind) or isinstance(kind, AwaitableNode):
        router = awaited_router
    assert (await both(graph_of(nothing, router)))["answer"] == "left"


class Router:
    """A router that is an object, and takes everything."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __call__(self, state: State, config: RunnableConfig, *, store: BaseStore, runtime: Runtime[Tone]) -> str:
        return "left" if check(state, config, runtime, store=store) else "right"


def nothing(state: State) -> Any:
    return {}


def to_settings(state: State, settings: Tone) -> str:
    return "left"


def no_state() -> Any:
    return {}


def keyword_state(*, state: State) -> Any:
    return {}


def unknown(state: State, model: Any) -> Any:
    return {}


def with_foreign_config(state: State, config: Tone) -> Any:
    return {}


def unnamed_runtime(state: State, rt: Runtime[Tone]) -> Any:
    return {}


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (to_settings, "'settings'"),
        (unknown, "'model'"),
        (unnamed_runtime, "'rt'"),
        (with_foreign_config, "'config'"),
        (keyword_state, "'state'"),
        (no_state, "state"),
        (partial(cast("Any", unknown), "a", "b"), "state"),
    ],
)
def test_what_nothing_is_given_to_is_refused_when_it_is_added(step: Any, named: str) -> None:
    builder = MethodGraph(State, Tone)
    with pytest.raises(SettingsError, match=f"^node mine: .*{named}") as refused:
        builder.add_node("mine", step)
    assert "\n" not in str(refused.value)
    with pytest.raises(SettingsError, match=named):
        builder.add_node("other", nothing).add_conditional_edges("other", step)


def test_a_state_without_keys_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"node mine: its state .* names no keys"):
        MethodGraph(dict, Tone).add_node("mine", lambda state: state)
    with pytest.raises(SettingsError, match="node mine: a timeout is for an async function"):
        MethodGraph(State, Tone).add_node("mine", nothing, timeout=1)


async def test_a_send_may_bring_any_object_and_needs_no_record_of_settings() -> None:
    def node(given) -> Any:  # type: ignore[no-untyped-def] # pyright: ignore
        return {"answer": given}

    builder: Any = MethodGraph(State, Tone).add_node("mine", node)
    graph = builder.add_conditional_edges(START, lambda state: [Send("mine", "sent")], ["mine"]).compile()
    assert (await both(graph, context=Tone(temperature=0.5)))["answer"] == "sent"


async def test_a_cached_node_replies_for_no_other_function() -> None:
    cache, policy = InMemoryCache[Any](), CachePolicy()
    for node in (only_state, nothing):
        builder: Any = MethodGraph(State, Tone).add_node("mine", node, cache_policy=policy)
        graph = builder.chain(START, "mine", END).compile(cache=cache)
        found = await graph.ainvoke({"question": "who?"})
        assert found.get("answer") == ("seen" if node is only_state else None)


@dataclass
class Data:
    question: str = ""
    answer: str = "none yet"


class Model(BaseModel):
    question: str = ""
    answer: str = "none yet"


@pytest.mark.parametrize("kind", [Data, Model])
async def test_a_state_may_be_an_object(kind: Any) -> None:
    async def node(state: Any, runtime: Runtime[Tone]) -> Any:
        assert isinstance(state, kind)
        return kind(question=state.question, answer=f"{state.answer} to {state.question}")

    def plain(state) -> Any:  # type: ignore[no-untyped-def] # pyright: ignore
        assert isinstance(state, kind)
        return {"answer": f"{state.answer} to {state.question}"}

    def router(state) -> Literal["left", "right"]:  # type: ignore[no-untyped-def] # pyright: ignore
        assert isinstance(state, kind)
        return "right" if "who?" in state.answer else "left"

    node.__annotations__["state"] = kind
    for each in (node, plain):
        assert (await both(graph_of(each, router, state=kind)))["answer"] == "none yet to who?"


async def test_a_named_input_schema_is_what_a_node_gets() -> None:
    def node(state) -> Any:  # type: ignore[no-untyped-def] # pyright: ignore
        assert isinstance(state, Data)
        return {"answer": state.question}

    builder: Any = MethodGraph(State, Tone).add_node("mine", node, input_schema=Data)
    assert (await both(builder.chain(START, "mine", END).compile()))["answer"] == "who?"


@dataclass
class Mine:
    tone: str = "mild"


async def test_a_context_may_be_a_dataclass() -> None:
    def node(state: State, runtime: Runtime[Mine]) -> Any:
        return {"answer": runtime.context.tone}

    def router(state: State, runtime: Runtime[Mine]) -> str:
        assert runtime.context.tone == "sharp"
        return "right"

    graph = graph_of(node, router, context=Mine)
    assert (await both(graph, context=Mine("sharp")))["answer"] == "sharp"
    assert (await both(graph, context={"tone": "sharp"}))["answer"] == "sharp"


async def test_nodes_of_ours_get_settings_beside_a_dataclass(monkeypatch: pytest.MonkeyPatch) -> None:
    def node(state: MethodState, runtime: Runtime[Mine]) -> Any:
        return {"answer": runtime.context.tone, "stop_reason": "answered"}

    monkeypatch.setenv("HOPGRAPH_MAX_LLM_CALLS", "7")
    graph: Any = (
        AnswerGraph(MethodState, Mine).add_node("mine", node).add_edge("prepare", "mine").finish_after("mine").compile()
    )
    assert (await both(graph, context=Mine("sharp")))["answer"] == "sharp"


async def test_a_node_may_say_where_to_go() -> None:
    def node(state: State) -> Command[Literal["left", "right"]]:
        return Command(goto="left", update={"answer": "gone"})

    builder = MethodGraph(State, Tone)
    builder.add_node("mine", node).add_edge(START, "mine")
    for name in ("left", "right"):
        builder.add_node(name, lambda state: {"answer": f"{state['answer']} on"}).add_edge(name, END)
    graph: Any = builder.compile()
    assert {edge.target for edge in graph.get_graph().edges if edge.source == "mine"} == {"left", "right"}
    assert (await both(graph))["answer"] == "gone on"


async def test_a_sync_node_may_block() -> None:
    """It runs in a thread, so that what else is under way goes on."""
    loop = asyncio.get_running_loop()

    def node(state: State) -> Any:
        assert get_config().get("metadata", {})["langgraph_node"] == "mine"
        done = asyncio.run_coroutine_threadsafe(asyncio.sleep(0, "the loop is free"), loop)
        return {"answer": done.result(30)}

    assert (await graph_of(node).ainvoke({"question": "who?"}, CONFIG))["answer"] == "the loop is free"
