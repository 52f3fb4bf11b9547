"""A node and a router as LangGraph runs them: under the method's own settings, and from sync code, too."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import set_config_context
from langgraph.config import get_config
from langgraph.errors import InvalidUpdateError
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from hopgraph.nodes.core.step_events import node_position
from hopgraph.nodes.core.step_function import StepFunction, resolve_result
from hopgraph.state.context import Context
from hopgraph.state.errors import SettingsError
from hopgraph.state.fingerprint import check_same_settings
from hopgraph.state.run_settings import settings_of_run
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.runnables import callback_handlers

Node = Callable[..., Awaitable[Mapping[str, Any]]]
"""A hopgraph node: `async (state, runtime) -> partial update`, or without runtime; the state's type names its keys."""

FIRST = "prepare"
"""The node that starts a run: it records the settings instead of being checked against them."""


class HumanReview(NamedTuple):
    """A node in which a person sees the input of another node; it reads the same keys."""

    name: str
    setting: str
    node: Node


@dataclass(eq=False)
class GraphNode(Runnable[Any, Any]):
    """A function as a node; as a `RunnableLambda`, every node would appear in traces twice."""

    name: str | None
    function: StepFunction
    settings: type[Context]
    gets_settings: bool = True
    """True if `runtime.context` is the settings; else it is whatever the caller passed."""
    reserve_calls: int | None = None
    review: HumanReview | None = None
    keys: Mapping[str, object] = field(default_factory=dict[str, object])
    """Keys that it may write: LangGraph silently drops others. Not checked if empty."""

    def __post_init__(self) -> None:
        """Take the function's names, by which LangGraph's cache tells nodes of one name apart."""
        function = self.function.function
        self.__module__ = function.__module__
        self.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run the node on the background loop and wait."""
        return run_in_background(self.ainvoke(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run the node and return its update."""
        runtime: Runtime[Any] = get_runtime()
        settings = settings_of_run(runtime.context, self.settings)
        known = _fields_of(input)
        if self.name != FIRST and (recorded := known.get("settings")) is not None:
            check_same_settings(recorded, settings)
        review = self.review
        if review and getattr(settings, review.setting) and review.name not in known.get("reviewed", ()):
            raise SettingsError(f"{review.setting}: {self.name} was reached without {review.name}; see `MethodGraph`")
        own: Any = input
        if isinstance(input, Mapping):
            own = {key: value for key, value in known.items() if key not in ("settings", "reviewed")}
        if self.gets_settings and runtime.context is not settings:
            runtime = runtime.override(context=settings)
        current = get_config()
        with node_position(current, self.reserve_calls) as here:
            try:
                with self.function.explain_failure(f"node {self.name}", own):
                    update = await self.function.run(own, runtime, current)
            finally:
                if here.listeners is not None:
                    await here.listeners.drain()
        if self.keys and (unknown := _keys_of(update) - self.keys.keys()):
            raise InvalidUpdateError(
                f"node {self.name}: the graph's state has no {', '.join(map(repr, sorted(unknown)))}"
            )
        return update


def _fields_of(state: object) -> Mapping[str, Any]:
    """Return a state, or the fields of an object: a `Send` may pass any; empty for one without fields."""
    return cast("Mapping[str, Any]", state) if isinstance(state, Mapping) else getattr(state, "__dict__", {})


def _keys_of(update: object) -> set[Any]:
    """List the keys that an update of this graph writes, alone, in a `Command` or among several; none of an object."""
    if isinstance(update, Command):
        command = cast("Command[Any]", update)
        return set() if command.graph else _keys_of(command.update)
    if isinstance(update, list | tuple):
        parts = cast("list[Any]", update)
        is_pair = isinstance(update, tuple) and len(parts) == 2 and isinstance(parts[0], str)
        return {parts[0]} if is_pair else set[Any]().union(*map(_keys_of, parts))
    return set(cast("Mapping[Any, Any]", update)) if isinstance(update, Mapping) else set()


class _SyncRouter(RunnableLambda[Any, Any]):
    """A sync router, run without LangChain's setup if no callback handler is listening."""

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        if config is None or callback_handlers(config):
            return await super().ainvoke(input, config, **kwargs)
        with set_config_context(config) as context:
            return context.run(cast("Any", self).func, input, config)


Ways = Mapping[str, tuple[str, str]]
"""Target of a router → the setting that asks for a review there, and the review's node."""


def make_router(
    name: str, router: StepFunction, cls: type[Context], *, gets_settings: bool, led: Ways | None = None
) -> Runnable[Any, Any]:
    """Return a router function as a runnable; a sync one runs on the event loop, where `StateGraph` would use a thread.

    Its `runtime.context` is the settings if it `gets_settings`, else what the caller passed.
    """

    def given(state: Any) -> tuple[Runtime[Any], Context]:
        runtime = cast("Runtime[Any] | None", get_runtime())
        if runtime is None:  # in `update_state`, which takes no context: the settings that the run recorded
            recorded = _fields_of(state).get("settings")
            runtime = Runtime(context=cls.model_construct(**recorded) if recorded else None)
        settings = settings_of_run(runtime.context, cls)
        return (runtime.override(context=settings) if gets_settings else runtime), settings

    def where(ways: Any, settings: Context) -> Any:
        asked = {way: to for way, (setting, to) in (led or {}).items() if getattr(settings, setting)}
        if isinstance(ways, list | tuple):
            return [asked.get(str(way), way) for way in cast("list[Any]", ways)]
        return asked.get(str(ways), ways)

    def route(state: Any, config: RunnableConfig) -> Any:
        runtime, settings = given(state)
        with router.explain_failure(f"router {name}", state):
            found = router.call(state, runtime, config)
            found = run_in_background(found) if inspect.iscoroutine(found) else found
        return where(found.invoke(state, config) if isinstance(found, Runnable) else found, settings)

    async def aroute(state: Any, config: RunnableConfig) -> Any:
        runtime, settings = given(state)
        with router.explain_failure(f"router {name}", state):
            found = await resolve_result(router.call(state, runtime, config), state, config)
        return where(found, settings)

    # From these LangGraph reads what the router is shown of the state, and where it leads without a path map.
    route.__annotations__ |= {"state": router.schema, "return": router.returns}
    return (RunnableLambda if router.is_async else _SyncRouter)(route, aroute, name=name)


def function_of(path: Runnable[Any, Any], state: type[Any]) -> StepFunction:
    """Return the function of a router that is a runnable itself."""

    async def route(state: Any, config: RunnableConfig) -> Any:
        return await path.ainvoke(state, config)

    return StepFunction.of("router", route, state)
