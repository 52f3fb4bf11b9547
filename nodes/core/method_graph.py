"""The state graph whose nodes are written once, as coroutines, and run from sync and async code alike.

LangGraph wants a sync twin for `graph.invoke`. Instead of a twin per node, the sync side runs the same
coroutine on one background event loop.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import wraps
from itertools import pairwise
from typing import Any, Self, cast, get_type_hints

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT, ensure_config
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime
from pydantic import JsonValue
from typing_extensions import TypedDict

from hopgraph.nodes.core.step_events import node_place, outer_place_metadata
from hopgraph.state.context import Context
from hopgraph.state.environment import resolve_settings
from hopgraph.state.fingerprint import check_same_settings
from hopgraph.tools.io.background import run_in_background

Node = Callable[[Any, Runtime[Any]], Awaitable[Mapping[str, Any]]]
"""A node: `async (state, runtime) -> partial update`; its first parameter's type names the keys it reads."""

STEPS_OUT_OF_REACH = 10_000

FIRST = "prepare"
"""The node that begins a run: it records the settings instead of being held to the recorded ones."""


class MethodGraph(StateGraph[Any, Any, Any, Any]):
    """A `StateGraph` that takes nodes as coroutine functions.

    A node's `runtime.context` is always the method's own Context, whatever the caller or a host graph gave,
    and a run that is resumed under other settings is refused. Everything that is not a coroutine function
    (a compiled subgraph, a runnable, a plain function) is added as `StateGraph` would.
    """

    def add_node(  # pyright: ignore[reportIncompatibleMethodOverride] - the overloads are for callers
        self, node: Any, action: Any = None, *, reserve_calls: int | None = None, **options: Any
    ) -> Self:
        """Add a node.

        The node's input schema is its first parameter's type, so that it gets only the keys it names.

        Args:
            node: The node, or its name.
            action: The node, where its name is given.
            reserve_calls: Under a budget, the model calls that the node leaves for those after it, and with them
                the final answer's share of tokens and time. None: the node asks no model, gives the final
                answer, or computes its own reserve.
            options: Those of `StateGraph.add_node`.
        """
        name, step = (node, action) if action is not None else (node.__name__, node)
        if inspect.iscoroutinefunction(step):
            options.setdefault("input_schema", _input_schema(name, step))
            step = _AsyncNode(name, step, cast("type[Context]", self.context_schema), reserve_calls)
        # The overloads of `StateGraph.add_node` are for its callers, not for a subclass that forwards.
        return cast("Any", super()).add_node(name, step, **options)

    def add_path(self, *nodes: str) -> Self:
        """Add the edges from each node to the next."""
        for source, target in pairwise(nodes):
            self.add_edge(source, target)
        return self

    def add_conditional_edges(self, source: str, path: Any, path_map: Any = None) -> Self:
        """Add edges as `StateGraph` does; a router may take the `settings` that the run began with, too."""
        if inspect.isfunction(path) and "settings" in inspect.signature(path).parameters:
            path = _with_settings(path, cast("type[Context]", self.context_schema))
        return super().add_conditional_edges(source, path, path_map)

    def compile(self, *args: Any, **options: Any) -> "CompiledMethod":
        """Compile the graph; arguments are those of `StateGraph.compile`."""
        compiled = super().compile(*args, **options)
        attributes = {key: value for key, value in vars(compiled).items() if key != "__orig_class__"}
        return CompiledMethod(**attributes)


def _with_settings(router: Callable[[Any, Any], Any], cls: type[Context]) -> Callable[[Any], Any]:
    """Let a router read the recorded settings, which an edit of the state at a breakpoint finds, too, as a Context."""

    @wraps(router)
    def route(state: Mapping[str, Any]) -> Any:
        return router(state, cls.model_construct(**state["settings"]))

    return route


class CompiledMethod(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that LangChain's default limit of 25 steps does not cut off.

    As a node of another graph it passes its task's place on to its own tasks, so that a trace has one order.
    `batch`, a chain, a tool or an agent around the graph passes that default on as if it had been chosen, and
    five iterations take more steps. Every loop of a method ends on a counter in its state. Any other
    `recursion_limit` of the caller's holds.
    """

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:  # noqa: A002
        """Run the graph and give its steps; `invoke` and `batch` come through here too."""
        return super().stream(input, _own_config(config), **options)

    def astream(  # pyright: ignore[reportIncompatibleMethodOverride] - the overloads are for callers
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """Run the graph and give its steps; `ainvoke` and `abatch` come through here too."""
        return super().astream(input, _own_config(config), **options)


def _own_config(config: RunnableConfig | None) -> RunnableConfig:
    chosen = ensure_config(config)
    metadata = chosen.get("metadata") or {}
    chosen["metadata"] = {**metadata, **outer_place_metadata(metadata)}
    if chosen.get("recursion_limit") == DEFAULT_RECURSION_LIMIT:
        chosen["recursion_limit"] = STEPS_OUT_OF_REACH
    return chosen


# A TypedDict that is made at run time has no static type.
_typed_dict: Callable[..., Any] = TypedDict


def _input_schema(name: str, node: Node) -> type[Any]:
    """Make the type of what the graph hands to a node: its own keys and the recorded settings."""
    first = next(iter(inspect.signature(node).parameters))
    keys = get_type_hints(get_type_hints(node)[first], include_extras=True)
    keys.setdefault("settings", dict[str, JsonValue])
    return cast("type[Any]", _typed_dict(f"{name}_input", keys, total=False))


class _AsyncNode(Runnable[Any, Any]):
    """A node as LangGraph runs it.

    It starts no run of its own for callbacks: as a `RunnableLambda`, every node would appear in a trace twice.
    """

    def __init__(self, name: str, node: Node, context: type[Context], reserve_calls: int | None) -> None:
        self.name, self._node, self._context, self._reserve_calls = name, node, context, reserve_calls

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        return run_in_background(self.ainvoke(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        runtime: Runtime[Any] = get_runtime()
        settings = resolve_settings(runtime.context, self._context)
        if self.name != FIRST:
            check_same_settings(input.get("settings") or {}, settings)
        own = {key: value for key, value in input.items() if key != "settings"}
        with node_place(self._reserve_calls) as here:
            try:
                return await self._node(own, runtime.override(context=settings))
            finally:
                if here.listeners is not None:
                    await here.listeners.drain()
