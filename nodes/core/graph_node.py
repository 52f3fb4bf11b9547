"""A node as LangGraph runs it: under the method's own settings, on one background loop from sync code, too."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config
from langgraph.errors import InvalidUpdateError
from langgraph.runtime import Runtime, get_runtime

from hopgraph.nodes.core.step_events import node_position
from hopgraph.nodes.core.step_function import StepFunction
from hopgraph.state.context import Context
from hopgraph.state.errors import SettingsError
from hopgraph.state.fingerprint import check_same_settings
from hopgraph.state.run_settings import settings_of_run
from hopgraph.tools.io.background import run_in_background

Node = Callable[..., Awaitable[Mapping[str, Any]]]
"""A hopgraph node: `async (state, runtime) -> partial update`, or without runtime; the state's type names its keys."""

FIRST = "prepare"
"""The node that begins a run: it records the settings instead of being held to the recorded ones."""


class HumanReview(NamedTuple):
    """A node in which a person sees what another node is about to use; it reads the same keys."""

    name: str
    setting: str
    node: Node


@dataclass(eq=False)
class GraphNode(Runnable[Any, Any]):
    """A function as a node; as a `RunnableLambda`, every node would appear in a trace twice."""

    name: str | None
    function: StepFunction
    settings: type[Context]
    gets_settings: bool = True
    """True if `runtime.context` is the settings; else it is what the caller gave."""
    reserve_calls: int | None = None
    review: HumanReview | None = None
    keys: Mapping[str, object] = field(default_factory=dict[str, object])
    """Keys it may write: LangGraph drops others silently. Not checked if empty."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run the node on the background loop, and wait."""
        return run_in_background(self.ainvoke(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run the node and return its update."""
        runtime: Runtime[Any] = get_runtime()
        settings = settings_of_run(runtime.context, self.settings)
        if self.name != FIRST:
            check_same_settings(input.get("settings") or {}, settings)
        review = self.review
        if review and getattr(settings, review.setting) and review.name not in input.get("reviewed", ()):
            raise SettingsError(f"{review.setting}: {self.name} was reached without {review.name}; see `MethodGraph`")
        own = {key: value for key, value in input.items() if key not in ("settings", "reviewed")}
        if self.gets_settings and runtime.context is not settings:
            runtime = runtime.override(context=settings)
        current = get_config()
        with node_position(current, self.reserve_calls) as here:
            try:
                with self.function.explain_missing_key(f"node {self.name}", own):
                    update = await self.function.run(own, runtime, current)
            finally:
                if here.listeners is not None:
                    await here.listeners.drain()
        written = cast("object", update)  # it may be a Command or an object, too
        if self.keys and isinstance(written, Mapping) and (unknown := update.keys() - self.keys.keys()):
            raise InvalidUpdateError(
                f"node {self.name}: the graph's state has no {', '.join(map(repr, sorted(unknown)))}"
            )
        return update
