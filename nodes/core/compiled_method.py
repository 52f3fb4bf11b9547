"""A compiled method: what calls, streams and host graphs meet at its boundary."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT, ensure_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime

from hopgraph.nodes.core.step_events import outer_place_metadata
from hopgraph.state.context import Context, make_settings
from hopgraph.state.errors import HopgraphError, SettingsError
from hopgraph.state.run_settings import begin_run
from hopgraph.tools.io.background import run_in_background

STEPS_OUT_OF_REACH = 10_000


class CompiledMethod(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that LangChain's default limit of 25 steps does not cut off.

    `batch`, a chain, a tool or an agent around the graph passes that default on as if it had been chosen, and five
    iterations take more steps; every loop of a method ends on a counter in its state. Any other `recursion_limit`
    holds. As a node of another graph it passes that node's position on to its own tasks, so that the events of both
    have one order.
    """

    @classmethod
    def of(cls, compiled: CompiledStateGraph[Any, Any, Any, Any]) -> Self:
        """Return a compiled graph as one of this class."""
        return cls(**{key: value for key, value in vars(compiled).items() if key != "__orig_class__"})

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:  # noqa: A002
        """Run the graph to its end, all of it on the background loop.

        Inside another graph, or with a checkpointer, store or cache, which may be sync only, each node goes there by
        itself.
        """
        if self.checkpointer or self.store or self.cache or _is_inside_a_graph(ensure_config(config)):
            return super().invoke(input, config, **options)
        return run_in_background(cast("Any", self).ainvoke(input, config, **options))

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:  # noqa: A002
        """Run the graph and give its steps, each node by itself on the background loop."""
        try:
            yield from super().stream(input, _own_config(config), **self._resolved(config, options))
        except HopgraphError as error:
            raise _without_frames(error) from error.__cause__

    async def astream(  # pyright: ignore[reportIncompatibleMethodOverride] - the overloads are for callers
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """Run the graph and give its steps; `ainvoke` and `abatch` come through here too."""
        try:
            resolved = self._resolved(config, options)
            stream = cast("AsyncGenerator[Any]", super().astream(input, _own_config(config), **resolved))
            async with aclosing(stream) as steps:
                async for step in steps:
                    yield step
        except HopgraphError as error:
            raise _without_frames(error) from error.__cause__

    def _resolved(self, config: RunnableConfig | None, options: dict[str, Any]) -> dict[str, Any]:
        given: object = options.get("context")
        cls = cast("type[Context]", self.context_schema)
        _refuse_misplaced_settings(config, given, cls)
        if given is None and _host_context() is not None:
            return options  # inherited
        is_foreign = not isinstance(given, Mapping | Context | None) and not hasattr(given, "hopgraph")
        if is_foreign and not _is_inside_a_graph(ensure_config(config)):
            kind = given.__name__ if isinstance(given, type) else type(cast("object", given)).__name__
            raise SettingsError(f"context {kind} is not a {cls.__name__}(…), a dict or None")
        own = make_settings(cls, cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else given
        return {**options, "context": begin_run(own, cls)}


def _is_inside_a_graph(config: RunnableConfig | None) -> bool:
    return any(name.startswith("__pregel_") for name in (config or {}).get("configurable") or {})


def _without_frames(error: HopgraphError) -> HopgraphError:
    """Drop LangGraph's frames and its notes on tasks: the message says what is wrong, and the frames only where."""
    error.__notes__ = []
    return error.with_traceback(None)


def _refuse_misplaced_settings(config: RunnableConfig | None, context: object, cls: Any) -> None:
    """Refuse settings in `config["configurable"]`, where nothing would read them.

    A LangGraph server copies the context there, and a host graph has values of its own there.
    """
    if _is_inside_a_graph(config):
        return
    given: Mapping[str, Any] = (config or {}).get("configurable") or {}
    copied = cast("Mapping[str, Any]", context).keys() if isinstance(context, Mapping) else ()
    if misplaced := sorted((given.keys() & cls.model_fields.keys()).difference(copied)):
        raise SettingsError(
            f"config['configurable'] has the setting {misplaced[0]!r}, which is not read there; "
            f"give settings as context={cls.__name__}({misplaced[0]}=…)"
        )


def _host_context() -> object:
    """Return the context of the graph in whose node this runs; None where there is none."""
    try:
        host = cast("Runtime[Any] | None", get_runtime())
    except RuntimeError:  # not inside a graph
        return None
    return host and host.context


def _own_config(config: RunnableConfig | None) -> RunnableConfig:
    chosen = ensure_config(config)
    metadata = chosen.get("metadata") or {}
    chosen["metadata"] = {**metadata, **outer_place_metadata(metadata)}
    if chosen.get("recursion_limit") == DEFAULT_RECURSION_LIMIT:
        chosen["recursion_limit"] = STEPS_OUT_OF_REACH
    return chosen
