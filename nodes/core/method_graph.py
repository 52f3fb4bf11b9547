"""The state graph whose nodes are coroutines, which sync code, too, runs on one background event loop."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, Self, TypeVar, cast, get_type_hints

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import InvalidUpdateError
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.stream import CustomTransformer
from pydantic import JsonValue
from typing_extensions import TypedDict

from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.step_events import node_place
from hopgraph.nodes.core.untraced_steps import Router, run_untraced
from hopgraph.state.context import Context
from hopgraph.state.errors import SettingsError
from hopgraph.state.fingerprint import check_same_settings
from hopgraph.state.reducers import merge_ids
from hopgraph.state.run_settings import settings_of_run
from hopgraph.tools.io.background import run_in_background

Node = Callable[[Any, Runtime[Any]], Awaitable[Mapping[str, Any]]]
"""A node: `async (state, runtime) -> partial update`; its first parameter's type names the keys it reads."""

NodeT = TypeVar("NodeT", bound=Callable[..., Any])

_OUR_OWN = f"{__name__.partition('.')[0]}."

FIRST = "prepare"
"""The node that begins a run: it records the settings instead of being held to the recorded ones."""


class HumanReview(NamedTuple):
    """A node in which a person sees what another node is about to use; it reads the same keys."""

    name: str
    setting: str
    node: Node


def reviewed_by(review: HumanReview) -> Callable[[NodeT], NodeT]:
    """Let a person review what a node is about to use: `MethodGraph` puts the review in front of the node."""

    def mark(node: NodeT) -> NodeT:
        cast("Any", node).human_review = review
        return node

    return mark


class MethodGraph(StateGraph[Any, Any, Any, Any]):
    """A `StateGraph` that takes nodes as coroutine functions.

    A node that people can review (`reviewed_by`) brings the review along, as a node in front of it: the edges that lead
    to the node lead to its review in runs whose settings ask for that. Add the node before the edges to it; a `Send`,
    an edge from several nodes or a router without known ends cannot lead there, so give the node a subgraph for them.

    A node's `runtime.context` is always the method's own Context, whatever the caller or a host graph gave, and a run
    that is resumed under other settings (but for limits and operation) is refused. Everything that is not a coroutine
    function (a compiled subgraph, a runnable, a plain function) is added as `StateGraph` would.
    """

    def __init__(self, state_schema: type[Any], context_schema: type[Context], **options: Any) -> None:
        super().__init__(state_schema, context_schema, **options)
        self._context, self._reviews = context_schema, dict[str, HumanReview]()

    def add_node(  # pyright: ignore[reportIncompatibleMethodOverride] - the overloads are for callers
        self, node: Any, action: Any = None, *, reserve_calls: int | None = None, **options: Any
    ) -> Self:
        """Add a node; its input schema is its first parameter's type, so that it gets only the keys it names.

        `reserve_calls` are, under a budget, the model calls that the node leaves for those after it, and with them the
        final answer's share of tokens and time. None: the node asks no model, gives the final answer, or computes its
        own reserve. The other arguments are those of `StateGraph.add_node`.
        """
        name, step = (node, action) if action is not None else (node.__name__, node)
        if inspect.iscoroutinefunction(step):
            review: HumanReview | None = getattr(step, "human_review", None)
            schema = options.setdefault(
                "input_schema", _input_schema(name, step, self.state_schema, reviewed=review is not None)
            )
            if review:
                review = review._replace(name=f"{review.name}_{name}") if review.name in self.nodes else review
                before = _AsyncNode(review.name, review.node, self._context)
                cast("Any", super()).add_node(review.name, before, input_schema=schema)
                super().add_edge(review.name, name)
                self._reviews[name] = review
            keys = {} if step.__module__.startswith(_OUR_OWN) else cast("dict[str, object]", self.channels)
            step = _AsyncNode(name, step, self._context, reserve_calls, review, keys)
        # The overloads of `StateGraph.add_node` are for its callers, not for a subclass that forwards.
        return cast("Any", super()).add_node(name, step, **options)

    def add_edge(self, start_key: str | list[str], end_key: str) -> Self:
        """Add an edge; to a node with a review, by way of the review in runs that ask for it."""
        review = self._reviews.get(end_key)
        if review is None or not isinstance(start_key, str):
            return super().add_edge(start_key, end_key)
        gate = _ReviewGate(review)
        return super().add_conditional_edges(start_key, gate, {"no review": end_key, "review": review.name})

    def add_path(self, *nodes: str) -> Self:
        """Add the edges from each node to the next."""
        for source, target in pairwise(nodes):
            self.add_edge(source, target)
        return self

    def add_conditional_edges(self, source: str, path: Any, path_map: Any = None) -> Self:
        """Add edges as `StateGraph` does; a router may take `settings`: those recorded, without limits and operation.

        A router that is a plain function runs on the event loop, where `StateGraph` would take a thread for it.
        """
        if inspect.isfunction(path) and "settings" in inspect.signature(path).parameters:
            path = _with_settings(path, self._context)
        super().add_conditional_edges(source, path, path_map)
        name, branch = self.branches[source].popitem()
        if self._reviews.keys() & (branch.ends or {}).values():
            super().add_conditional_edges(source, *_with_reviews(path, branch.ends or {}, self._reviews))
            name, branch = self.branches[source].popitem()
        if inspect.isfunction(path) and not inspect.iscoroutinefunction(path):
            branch = branch._replace(path=Router(branch.path, takes_mapping=path.__module__.startswith(_OUR_OWN)))
        self.branches[source][name] = branch
        return self

    def compile(self, *args: Any, **options: Any) -> CompiledMethod:
        """Compile the graph; arguments are those of `StateGraph.compile`. Event streams show the step events, too."""
        given = options.pop("transformers", None) or ()
        others = [each for each in given if each is not CustomTransformer]
        compiled = super().compile(*args, transformers=[CustomTransformer, *others], **options)
        run_untraced(compiled, _AsyncNode)
        return CompiledMethod.of(compiled)


def _with_settings(router: Callable[[Any, Any], Any], cls: type[Context]) -> Callable[[Any], Any]:
    """Let a router read the settings that the run recorded in its state, as a Context."""

    @wraps(router)
    def route(state: Mapping[str, Any]) -> Any:
        return router(state, cls.model_construct(**state["settings"]))

    return route


class _ReviewGate(Runnable[Any, str]):
    """Chooses between a node and its review; unlike a function, it starts no run of its own for callbacks."""

    takes_mapping = True

    def __init__(self, review: HumanReview) -> None:
        self.name, self._setting = f"to_{review.name}", review.setting

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:  # noqa: A002
        return "review" if (input.get("settings") or {}).get(self._setting) else "no review"

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:  # noqa: A002
        return self.invoke(input)


def _with_reviews(
    router: Callable[[Any], Any], ends: Mapping[Any, str], reviews: Mapping[str, HumanReview]
) -> tuple[Callable[[Any], Any], dict[Any, str]]:
    """Let a router lead to the reviews of its ends in runs that ask for them; gives it with all its ends."""
    reviewed_ends = {str(way): reviews[end] for way, end in ends.items() if end in reviews}
    labels = {way: each.name if way in reviews else f"{way}, to review" for way, each in reviewed_ends.items()}

    @wraps(router)
    def route(state: Mapping[str, Any]) -> Any:
        settings: Mapping[str, Any] = state.get("settings") or {}
        wanted = {way: labels[way] for way, each in reviewed_ends.items() if settings.get(each.setting)}
        ways = router(state)
        if isinstance(ways, list):
            return [wanted.get(str(way), way) for way in cast("list[Any]", ways)]
        return wanted.get(str(ways), ways)

    return route, {**ends, **{labels[way]: each.name for way, each in reviewed_ends.items()}}


# A TypedDict that is made at run time has no static type.
_typed_dict: Callable[..., Any] = TypedDict


def _input_schema(name: str, node: Node, state: type[Any], *, reviewed: bool) -> type[Any]:
    """Make the type of what the graph hands to a node: its own keys, the recorded settings and reviews."""
    first = next(iter(inspect.signature(node).parameters))
    annotated = get_type_hints(node).get(first, state)
    keys = get_type_hints(annotated, include_extras=True) or get_type_hints(state, include_extras=True)
    keys.setdefault("settings", dict[str, JsonValue])
    if reviewed:
        keys.setdefault("reviewed", Annotated[list[str], merge_ids])
    return cast("type[Any]", _typed_dict(f"{name}_input", keys, total=False))


@dataclass(eq=False)
class _AsyncNode(Runnable[Any, Any]):
    """A node as LangGraph runs it; as a `RunnableLambda`, every node would appear in a trace twice."""

    name: str | None
    node: Node
    context: type[Context]
    reserve_calls: int | None = None
    review: HumanReview | None = None
    keys: Mapping[str, object] = field(default_factory=dict[str, object])
    """What it may write: LangGraph drops other keys without a word. Not checked where it is empty."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        return run_in_background(self.ainvoke(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        runtime: Runtime[Any] = get_runtime()
        settings = settings_of_run(runtime.context, self.context)
        if self.name != FIRST:
            check_same_settings(input.get("settings") or {}, settings)
        review = self.review
        if review and getattr(settings, review.setting) and review.name not in input.get("reviewed", ()):
            raise SettingsError(f"{review.setting}: {self.name} was reached without {review.name}; see `MethodGraph`")
        own = {key: value for key, value in input.items() if key not in ("settings", "reviewed")}
        with node_place(self.reserve_calls) as here:
            try:
                given = runtime if runtime.context is settings else runtime.override(context=settings)
                update = await self.node(own, given)
            finally:
                if here.listeners is not None:
                    await here.listeners.drain()
        written = cast("object", update)  # a node of others may give a Command, too
        if self.keys and isinstance(written, Mapping) and (unknown := update.keys() - self.keys.keys()):
            raise InvalidUpdateError(
                f"node {self.name}: the graph's state has no {', '.join(map(repr, sorted(unknown)))}"
            )
        return update
