"""The state graph of a method: nodes and routers for sync and async code, human reviews, replaceable steps."""

import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, TypeVar, cast, get_args, get_origin

from langchain_core.runnables import Runnable
from langgraph.graph import StateGraph
from langgraph.stream import CustomTransformer
from langgraph.types import Command
from pydantic import JsonValue
from typing_extensions import TypedDict

from hopgraph.nodes.core.compiled_method import CompiledMethod, ContextT, InputT, OutputT, StateT
from hopgraph.nodes.core.graph_node import GraphNode, HumanReview, Node, Ways, function_of, make_router
from hopgraph.nodes.core.step_function import StepFunction, state_keys
from hopgraph.state.context import Context
from hopgraph.state.errors import SettingsError, did_you_mean
from hopgraph.state.reducers import merge_ids

__all__ = ["HumanReview", "MethodGraph", "Node", "reviewed_by"]

NodeT = TypeVar("NodeT", bound=Callable[..., Any])

_CONDITION = "condition"  # what `StateGraph` calls a router without a name


def reviewed_by(review: HumanReview) -> Callable[[NodeT], NodeT]:
    """Let a person review the input of a node: `MethodGraph` puts the review in front of the node."""

    def mark(node: NodeT) -> NodeT:
        cast("Any", node).human_review = review
        return node

    return mark


class MethodGraph(StateGraph[StateT, ContextT, InputT, OutputT]):
    """A `StateGraph` whose nodes and routers work in sync and async code, and whose steps can be changed.

    Nodes and routers are whatever `StateGraph` accepts. A function's `runtime.context` is always the method's own
    Context, whatever the caller or a host graph passed, and resuming a run with other settings (except limits
    and operation) is refused. With a context schema that is not our Context, external functions get what was passed.

    A reviewable node (`reviewed_by`) brings its review along, as a node in front of it: in runs whose
    settings ask for it, the edges to the node lead to its review. A `Send`, an edge from several nodes or a
    router without known targets cannot lead there, so wrap such a node in a subgraph.
    """

    def __init__(self, state_schema: type[Any], context_schema: type[Any] | None = None, **options: Any) -> None:
        super().__init__(state_schema, context_schema, **options)
        self._converts = isinstance(context_schema, type) and issubclass(context_schema, Context)
        self._settings: type[Context] = cast("Any", context_schema) if self._converts else Context
        self._reviews = dict[str, HumanReview]()
        self._routers = dict[tuple[str, str], StepFunction]()
        self._options = dict[str, dict[str, Any]]()
        """Node → the options it was added with."""

    def add_node(  # pyright: ignore[reportIncompatibleMethodOverride] - the overloads are for callers
        self, node: Any, action: Any = None, *, reserve_calls: int | None = None, **options: Any
    ) -> Self:
        """Add a node; its input schema is its first parameter's type, so that it only gets the keys named there.

        `reserve_calls` are the model calls of a budget that the node leaves for later nodes, and with them the
        final answer's share of tokens and time. None: the node calls no model, gives the final answer, or computes its
        own reserve. The other arguments are those of `StateGraph.add_node`. A SettingsError names a parameter that
        LangGraph cannot fill.
        """
        name, step = (node, action) if isinstance(node, str) else (_name_of(node), node)
        if step is None:
            raise SettingsError(f"node {name}: there is no function; write add_node({name!r}, function)")
        self._options[name] = {"reserve_calls": reserve_calls, **options}
        if _is_function(step):
            step = self._node(name, step, reserve_calls, options)
        # The overloads of `StateGraph.add_node` are for callers, not for a forwarding subclass.
        return cast("Any", super()).add_node(name, step, **options)

    def _node(self, name: str, step: Any, reserve_calls: int | None, options: dict[str, Any]) -> GraphNode:
        """Make a function a node, with its review in front; adds to the options what LangGraph infers from them."""
        function = StepFunction.of(f"node {name}", step, self.state_schema)
        if options.get("timeout") and not function.is_async:
            raise SettingsError(f"node {name}: a timeout is for an async function, as a sync one cannot be cancelled")
        function = replace(function, schema=options.get("input_schema") or options.get("input") or function.schema)
        keys = state_keys(function.schema)
        if not keys:
            raise SettingsError(f"node {name}: its state {function.schema!r} names no keys; use a TypedDict")
        known: HumanReview | None = self._reviews.get(name)
        review: HumanReview | None = known or getattr(step, "human_review", None)
        keys.setdefault("settings", dict[str, JsonValue])
        if review:
            keys.setdefault("reviewed", Annotated[list[str], merge_ids])
        schema = options["input_schema"] = _typed_dict(f"{name}_input", keys, total=False)
        options.setdefault("destinations", _destinations(function.returns))
        if review and not known:
            review = review._replace(name=f"{review.name}_{name}") if review.name in self.nodes else review
            before = StepFunction.of(f"node {review.name}", review.node, self.state_schema)
            cast("Any", super()).add_node(
                review.name, GraphNode(review.name, before, self._settings), input_schema=schema
            )
            super().add_edge(review.name, name)
            self._reviews[name] = review
        written = {} if function.is_ours else cast("dict[str, object]", self.channels)
        gets_settings = self._converts or function.is_ours
        return GraphNode(name, function, self._settings, gets_settings, reserve_calls, review, written)

    def chain(self, *nodes: str) -> Self:
        """Add the edges from each node to the next."""
        for source, target in pairwise(nodes):
            self.add_edge(source, target)
        return self

    def add_conditional_edges(self, source: str, path: Any, path_map: Any = None) -> Self:
        """Add edges as `StateGraph` does; a router that is a plain function runs on the event loop, not in a thread."""
        if not _is_function(path):
            return super().add_conditional_edges(source, path, path_map)
        router = StepFunction.of(f"router of {source}", path, self.state_schema)
        name = str(getattr(path, "__name__", _CONDITION)).replace("<lambda>", _CONDITION)
        self._routers[source, name] = router
        return super().add_conditional_edges(source, self._route(name, router), path_map)

    def replace_node(self, name: str, node: Any, **options: Any) -> Self:
        """Replace a node; its edges, its review and its options are kept.

        `options` are the changed options of `add_node`. `outer.inner`: a node of a subgraph. A SettingsError names a
        node that does not exist.
        """
        outer, _, inner = (name, "", "") if name in self._options else name.partition(".")
        if outer not in self._options:
            raise SettingsError(f"the graph has no node {outer!r}{did_you_mean(outer, self._options)}")
        if inner:
            changed = self._subgraph(outer).replace_node(inner, node, **options)
            return self._replace_subgraph(outer, changed)
        order = [*self.nodes]  # drawn where it was
        self.nodes.pop(self.nodes.pop(name).error_handler_node or "", None)
        self.add_node(name, node, **{**self._options[name], **options})
        self.nodes = {each: self.nodes[each] for each in dict.fromkeys([*order, *self.nodes]) if each in self.nodes}
        return self

    def insert_between(self, source: str, target: str, node: Any, name: str = "", **options: Any) -> Self:
        """Insert a node, named explicitly or after its function, on every edge from one node to another.

        `options` are those of `add_node`. `outer.inner` names a node of a subgraph; both must be in the same one. A
        SettingsError names a missing edge, or one taken by a `Send`, which would bypass the node.
        """
        (outer, _, first), (_, _, last) = source.partition("."), target.partition(".")
        if first and target.startswith(f"{outer}.") and source not in self._options:
            changed = self._subgraph(outer).insert_between(first, last, node, name, **options)
            return self._replace_subgraph(outer, changed)
        name = name or _name_of(node)
        branches = self.branches.get(source, {})
        led = {each: cast("Mapping[Any, str]", branch.ends or {}) for each, branch in branches.items()}
        routed = {each: ends for each, ends in led.items() if target in ends.values()}
        joined = [starts for starts, end in self.waiting_edges if source in starts and end == target]
        is_edge = (source, target) in self.edges
        if not (is_edge or routed or joined):
            raise SettingsError(f"the graph has no edge from {source!r} to {target!r}")
        if any(
            "Send" in str(self._routers[source, each].returns) for each in routed if (source, each) in self._routers
        ):
            raise SettingsError(f"a Send leads from {source!r} to {target!r}, which bypasses nodes; replace {target!r}")
        self.add_node(name, node, **options)
        self.edges.discard((source, target))
        for starts in joined:
            self.waiting_edges.remove((starts, target))
            self.add_edge([name if each == source else each for each in starts], target)
        for each, ends in routed.items():
            redirected = {way: name if end == target else end for way, end in ends.items()}
            branches[each] = branches[each]._replace(ends=redirected)
        if is_edge or joined:
            self.add_edge(source, name)
        return self.add_edge(name, target) if is_edge or routed else self

    def copy(self) -> Self:
        """Return a graph with the same nodes and edges; changes to it do not affect this one."""
        made = copy(self)
        made.nodes, made.edges, made.waiting_edges = {**self.nodes}, {*self.edges}, {*self.waiting_edges}
        made.branches = defaultdict(dict, {source: {**each} for source, each in self.branches.items()})
        made.schemas, made.channels, made.managed = {**self.schemas}, {**self.channels}, {**self.managed}
        made._reviews, made._routers, made._options = {**self._reviews}, {**self._routers}, {**self._options}
        return made

    def compile(self, *args: Any, **options: Any) -> CompiledMethod[StateT, ContextT, InputT, OutputT]:
        """Compile the graph; arguments are those of `StateGraph.compile`. `name` defaults to the method's.

        Event streams also show the step events.
        """
        led = self.copy()
        led._lead_to_reviews()
        options["name"] = options.get("name") or self._settings.method or None
        others = [each for each in options.pop("transformers", None) or () if each is not CustomTransformer]
        compiled = cast("Any", StateGraph.compile)(led, *args, transformers=[CustomTransformer, *others], **options)
        compiled.builder = self
        # Under a foreign context it runs as any graph does.
        return CompiledMethod.of(compiled) if self._converts else compiled

    def compile_as(self, other: Any) -> CompiledMethod:
        """Compile the graph with the name and options of another compiled graph."""
        kept = {key: getattr(other, key) for key in ("checkpointer", "store", "cache", "name")}
        stops = {"interrupt_before": other.interrupt_before_nodes, "interrupt_after": other.interrupt_after_nodes}
        return self.compile(**kept, **stops)

    def _subgraph(self, name: str) -> "MethodGraph[Any, Any, Any, Any]":
        compiled: Any = self.nodes[name].runnable if name in self.nodes else None
        if not isinstance(getattr(compiled, "builder", None), MethodGraph):
            raise SettingsError(f"the graph has no subgraph {name!r} with its own nodes")
        return compiled.builder.copy()

    def _replace_subgraph(self, name: str, changed: "MethodGraph") -> Self:
        old: Any = self.nodes[name].runnable
        made = changed.compile_as(old)
        return self.replace_node(name, old.of(made) if isinstance(old, CompiledMethod) else made)

    def _route(self, name: str, router: StepFunction, led: Ways | None = None) -> Runnable[Any, Any]:
        return make_router(name, router, self._settings, gets_settings=self._converts or router.is_ours, led=led)

    def _lead_to_reviews(self) -> None:
        """Redirect everything that leads to a reviewed node to its review in runs that ask for it."""
        for source, branches in self.branches.items():
            for name, branch in branches.items():
                ends = branch.ends or {}
                reviewed = {str(way): self._reviews[end] for way, end in ends.items() if end in self._reviews}
                labels = {
                    way: each.name if way in self._reviews else f"{way}, to review" for way, each in reviewed.items()
                }
                if reviewed:
                    router = self._routers.get((source, name)) or function_of(branch.path, self.state_schema)
                    led = {way: (each.setting, labels[way]) for way, each in reviewed.items()}
                    to_reviews = {labels[way]: each.name for way, each in reviewed.items()}
                    branches[name] = branch._replace(path=self._route(name, router, led), ends={**ends, **to_reviews})
        gate = StepFunction.of("router", _no_review, self.state_schema)
        for start, end in [*self.edges]:
            review = self._reviews.get(end)
            if review and start != review.name:
                self.edges.discard((start, end))
                route = self._route(f"to_{review.name}", gate, {"no review": (review.setting, "review")})
                super().add_conditional_edges(start, route, {"no review": end, "review": review.name})


def _no_review(_state: object) -> str:
    return "no review"


# A TypedDict that is made at run time has no static type.
_typed_dict: Callable[..., Any] = TypedDict


def _is_function(step: object) -> bool:
    """Return whether a step is called with the state, rather than being (or becoming) a runnable."""
    is_generator = inspect.isgeneratorfunction(step) or inspect.isasyncgenfunction(step)
    return callable(step) and not isinstance(step, Runnable) and not is_generator


def _name_of(step: Any) -> str:
    return step.get_name() if isinstance(step, Runnable) else getattr(step, "__name__", type(step).__name__)


def _destinations(returned: object) -> tuple[str, ...]:
    """Return the targets of a node annotated to return `Command[Literal[…]]`, alone or in a union."""
    for each in (returned, *get_args(returned)):
        if get_origin(each) is Command and get_origin(ways := get_args(each)[0]) is Literal:
            return get_args(ways)
    return ()
