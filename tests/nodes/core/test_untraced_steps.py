"""Runs that no callback handler watches take the same steps as those that one watches."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import AsyncCallbackManager
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph import END, START
from langgraph.types import Send
from typing_extensions import TypedDict

from hopgraph.nodes.core import method_graph
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.state import Context
from hopgraph.state.reducers import merge_ids
from support.chain_runs import Runs

SET: ContextVar[str] = ContextVar("SET", default="by the caller")
pytestmark = pytest.mark.usefixtures("only_hook")


class State(TypedDict, total=False):
    name: str
    ids: Annotated[list[str], merge_ids]
    path: Annotated[list[str], merge_ids]


def walk(node: Any, router: Callable[..., Any], *, send: bool = False) -> Any:
    """Compile a graph that runs a node after `prepare`, and then what its router chooses."""

    async def prepare(state: State, runtime: Any) -> Any:
        return {"name": "new", "ids": ["b"]}

    async def middle(state: State, runtime: Any) -> Any:
        return await node(state)

    async def left(state: State, runtime: Any) -> Any:
        return {"path": ["left"]}

    async def right(state: State, runtime: Any) -> Any:
        return {"path": ["right"]}

    def fan_out(state: State) -> list[Send]:
        return [Send("middle", {"name": "sent", "ids": ["z"]})]

    builder = MethodGraph(State, Context)
    for step in (prepare, middle, left, right):
        builder.add_node(step)
    builder.add_edge(START, "prepare").add_edge("left", END).add_edge("right", END)
    if send:
        builder.add_conditional_edges("prepare", fan_out, ["middle"])
    else:
        builder.add_edge("prepare", "middle")
    return builder.add_conditional_edges("middle", router, {"left": "left", "right": "right"}).compile(name="Walk")


async def both(graph: Any) -> tuple[dict[str, Any], Counter[str]]:
    """Run a graph without and with a handler; gives the state, which must be the same, and the runs."""
    runs = Runs()
    unwatched = await graph.ainvoke({"name": "old", "ids": ["a"]})
    watched = await graph.ainvoke({"name": "old", "ids": ["a"]}, {"callbacks": [runs]})
    assert unwatched == watched
    return unwatched, runs.begun


@pytest.fixture(params=[True, False], ids=["ours", "of others"])
def is_ours(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the routers of a test count as ours, which are given no dict."""
    if request.param:
        monkeypatch.setattr(method_graph, "_OUR_OWN", __name__)
    return request.param


@pytest.mark.parametrize("send", [False, True])
async def test_a_router_reads_the_state_with_the_update(is_ours: bool, send: bool) -> None:
    read: list[dict[str, Any]] = []
    kinds = set[bool]()

    def route(state: Any) -> str:
        kinds.add(isinstance(state, dict))
        read.append({key: state[key] for key in state})
        return "left" if state.get("name") == "replaced" and "missing" not in state else "right"

    async def node(state: State) -> dict[str, Any]:
        return {"name": "replaced", "ids": ["c"]}

    state, runs = await both(walk(node, route, send=send))
    assert state == {"name": "replaced", "ids": ["a", "b", "c"], "path": ["left"]}
    assert all(each["name"] == "replaced" and each["ids"] == ["a", "b", "c"] for each in read)
    assert kinds == ({True, False} if is_ours else {True})
    assert {"prepare", "middle", "left", "route"} <= runs.keys()


@pytest.mark.parametrize("send", [False, True])
async def test_a_router_reads_what_the_node_did_not_write(is_ours: bool, send: bool) -> None:
    async def node(state: State) -> dict[str, Any]:
        return {"path": [f"was given {state.get('name')}"]}

    state, _ = await both(walk(node, lambda state: "left" if state["name"] == "new" else "right", send=send))
    assert state["path"] == ["left", f"was given {'sent' if send else 'new'}"]


async def test_a_node_runs_in_the_context_of_its_own_config() -> None:
    configs: list[Mapping[str, Any]] = []

    async def node(state: State) -> dict[str, Any]:
        configs.append(var_child_runnable_config.get() or {})
        return {}

    before = var_child_runnable_config.get()
    await both(walk(node, lambda state: "left"))
    assert var_child_runnable_config.get() == before
    unwatched, watched = configs
    assert unwatched["metadata"]["langgraph_node"] == watched["metadata"]["langgraph_node"] == "middle"
    assert "run_name" not in unwatched
    assert "run_id" not in unwatched


async def test_an_error_leaves_the_callers_config() -> None:
    async def node(state: State) -> dict[str, Any]:
        raise ValueError("it failed")

    before = var_child_runnable_config.get()
    with pytest.raises(ValueError, match="it failed"):
        await walk(node, lambda state: "left").ainvoke({"name": "old"})
    assert var_child_runnable_config.get() == before


async def test_handlers_that_langchain_adds_to_every_call_see_what_a_node_calls(only_hook: ContextVar[Any]) -> None:
    """As those of `collect_runs`, which no run passes on to what it calls, so that the nodes are not seen."""
    watched: list[bool] = []

    async def node(state: State) -> dict[str, Any]:
        watched.append(bool(AsyncCallbackManager.configure().handlers))
        return {}

    graph = walk(node, lambda state: "left")
    token = only_hook.set(Runs())
    await graph.ainvoke({"name": "old"})
    only_hook.reset(token)
    await graph.ainvoke({"name": "old"})
    assert watched == [True, False]


async def test_what_a_node_sets_in_its_context_is_not_its_callers() -> None:
    async def node(state: State) -> dict[str, Any]:
        SET.set("in a node")
        return {}

    await both(walk(node, lambda state: "left"))
    assert SET.get() == "by the caller"


async def test_a_stream_of_events_has_what_each_node_streams() -> None:
    async def node(state: State) -> dict[str, Any]:
        return {"name": "replaced"}

    graph = walk(node, lambda state: "left")
    events: list[Any] = [each async for each in graph.astream_events({"name": "old"}, version="v2")]
    of_the_node = [each["event"] for each in events if each["name"] == "middle"]
    assert of_the_node == ["on_chain_start", "on_chain_stream", "on_chain_end"]


async def test_an_agent_that_wraps_langgraphs_nodes_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async def node(state: State) -> dict[str, Any]:
        return {}

    graph, seen = walk(node, lambda state: "left"), list[Any]()
    kind: Any = type(graph.nodes["middle"].node._traced)
    own = kind.ainvoke

    @wraps(own)
    async def watched(self: Any, state: Any, config: Any = None, **kwargs: Any) -> Any:
        seen.append(config["run_name"])
        return await own(self, state, config, **kwargs)

    await graph.ainvoke({"name": "old"})
    monkeypatch.setattr(kind, "ainvoke", watched)
    await graph.ainvoke({"name": "old"})
    assert seen == ["prepare", "middle", "left"]
