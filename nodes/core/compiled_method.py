"""A compiled method: what calls, streams and host graphs meet at its boundary."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from contextvars import Context as ContextVariables
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast, overload

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command, GraphOutput, StateUpdate, StreamMode, StreamPart
from typing_extensions import TypeVar

from hopgraph.nodes.core.state_edits import check_command, complete_edits
from hopgraph.nodes.core.step_events import parent_task_metadata
from hopgraph.nodes.core.step_function import state_keys
from hopgraph.state.context import Context, make_settings
from hopgraph.state.errors import HopgraphError, QuestionError, SettingsError
from hopgraph.state.run_settings import begin_run
from hopgraph.tools.io.background import run_in_background

StateT = TypeVar("StateT", bound=Any, default=Any)
ContextT = TypeVar("ContextT", bound=Any, default=Any)
InputT = TypeVar("InputT", bound=Any, default=Any)
OutputT = TypeVar("OutputT", bound=Any, default=Any)

GraphInput: TypeAlias = InputT | Command[Any] | None
"""The input that starts or resumes a run: a state, a resume value, or None to go on where it stopped."""
GivenConfigs: TypeAlias = RunnableConfig | Sequence[RunnableConfig] | None

NO_RECURSION_LIMIT = 10_000

_COMPLETED: Mapping[str, Any] = ContextVariables().run(ensure_config)
"""The config that `batch` and chains make of none: they pass its step limit on as if it had been chosen."""


class _ChosenLimit(int):
    """A limit of steps that the caller of a batch has chosen, even where it equals LangChain's default."""


class CompiledMethod(CompiledStateGraph[StateT, ContextT, InputT, OutputT]):
    """A compiled graph whose results are typed, and which LangChain's default limit of 25 steps does not cut off.

    `batch` and a chain around the graph pass that default on as if it had been chosen, and five iterations take more
    steps; every loop of a method ends on a counter in its state. A `recursion_limit` that is chosen holds, in
    `with_config` and, before that, in a call or a batch; inside another graph `with_config` holds before that graph's.
    Only 25 itself, chosen for a chain or a host graph, cannot be told from the default: `with_config` takes it, too.

    As a node of another graph it passes that node's position on to its own tasks, so that the events of both have one
    order.
    """

    @classmethod
    def of(cls, compiled: CompiledStateGraph[Any, Any, Any, Any]) -> Self:
        """Make this compiled graph one of this class, for which `StateGraph.compile` has no option."""
        cast("Any", compiled).__class__ = cls
        return cast("Self", compiled)

    @overload
    def invoke(
        self,
        input: GraphInput[InputT],
        config: RunnableConfig | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        stream_mode: Literal["values"] = "values",
        version: Literal["v1"] = "v1",
        **options: Any,
    ) -> OutputT: ...
    @overload
    def invoke(
        self,
        input: GraphInput[InputT],
        config: RunnableConfig | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        version: Literal["v2"],
        **options: Any,
    ) -> GraphOutput[OutputT]: ...
    @overload
    def invoke(
        self,
        input: GraphInput[InputT],
        config: RunnableConfig | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        stream_mode: StreamMode,
        **options: Any,
    ) -> list[Any]: ...
    def invoke(  # pyright: ignore[reportIncompatibleMethodOverride] - a dict is taken for a context, too
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Any:
        """Run the graph to its end, all of it on the background loop.

        Inside another graph, or with a checkpointer, store or cache, which may be sync only, each node goes there by
        itself.
        """
        if self.checkpointer or self.store or self.cache or _host() is not None:
            return super().invoke(input, config, **options)
        return run_in_background(cast("Any", self).ainvoke(input, config, **options))

    if TYPE_CHECKING:  # LangGraph's own, typed

        @overload
        async def ainvoke(
            self,
            input: GraphInput[InputT],
            config: RunnableConfig | None = None,
            *,
            context: ContextT | Mapping[str, Any] | None = None,
            stream_mode: Literal["values"] = "values",
            version: Literal["v1"] = "v1",
            **options: Any,
        ) -> OutputT: ...
        @overload
        async def ainvoke(
            self,
            input: GraphInput[InputT],
            config: RunnableConfig | None = None,
            *,
            context: ContextT | Mapping[str, Any] | None = None,
            version: Literal["v2"],
            **options: Any,
        ) -> GraphOutput[OutputT]: ...
        @overload
        async def ainvoke(
            self,
            input: GraphInput[InputT],
            config: RunnableConfig | None = None,
            *,
            context: ContextT | Mapping[str, Any] | None = None,
            stream_mode: StreamMode,
            **options: Any,
        ) -> list[Any]: ...
        async def ainvoke(  # pyright: ignore[reportIncompatibleMethodOverride]
            self,
            input: Any,  # noqa: A002
            config: RunnableConfig | None = None,
            **options: Any,
        ) -> Any:
            """Run the graph to its end."""

    @overload
    def stream(
        self,
        input: GraphInput[InputT],
        config: RunnableConfig | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        version: Literal["v1"] = "v1",
        **options: Any,
    ) -> Iterator[Any]: ...
    @overload
    def stream(
        self,
        input: GraphInput[InputT],
        config: RunnableConfig | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        version: Literal["v2"],
        **options: Any,
    ) -> Iterator[StreamPart[StateT, OutputT]]: ...
    def stream(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Iterator[Any]:
        """Run the graph and give its steps, each node by itself on the background loop."""
        try:
            self._check_input(input)
            yield from super().stream(input, self._own_config(config), **self._resolved(config, options))
        except HopgraphError as error:
            raise _without_frames(error) from error.__cause__

    @overload
    def astream(
        self,
        input: GraphInput[InputT],
        config: RunnableConfig | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        version: Literal["v1"] = "v1",
        **options: Any,
    ) -> AsyncIterator[Any]: ...
    @overload
    def astream(
        self,
        input: GraphInput[InputT],
        config: RunnableConfig | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        version: Literal["v2"],
        **options: Any,
    ) -> AsyncIterator[StreamPart[StateT, OutputT]]: ...
    async def astream(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """Run the graph and give its steps; `ainvoke` and `abatch` come through here too."""
        try:
            self._check_input(input)
            resolved = self._resolved(config, options)
            stream = cast("AsyncGenerator[Any]", super().astream(input, self._own_config(config), **resolved))
            async with aclosing(stream) as steps:
                async for step in steps:
                    yield step
        except HopgraphError as error:
            raise _without_frames(error) from error.__cause__

    def batch(self, inputs: Any, config: GivenConfigs = None, **options: Any) -> list[OutputT]:
        """Run the graph for several inputs at the same time; results in their order."""
        return super().batch(inputs, _as_chosen(config), **options)

    async def abatch(self, inputs: Any, config: GivenConfigs = None, **options: Any) -> list[OutputT]:
        """Run the graph for several inputs at the same time; results in their order."""
        return await super().abatch(inputs, _as_chosen(config), **options)

    def batch_as_completed(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, inputs: Any, config: GivenConfigs = None, **options: Any
    ) -> Iterator[tuple[int, Any]]:
        """Run the graph for several inputs at the same time; results with their inputs' numbers, as they come."""
        return super().batch_as_completed(inputs, _as_chosen(config), **options)

    def abatch_as_completed(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, inputs: Any, config: GivenConfigs = None, **options: Any
    ) -> AsyncIterator[tuple[int, Any]]:
        """Run the graph for several inputs at the same time; results with their inputs' numbers, as they come."""
        return super().abatch_as_completed(inputs, _as_chosen(config), **options)

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Write to a thread's state, as `update_state` does; see `complete_edits` for what is taken."""
        state = self.get_state(config).values
        return super().bulk_update_state(config, complete_edits(supersteps, state, self._types))

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Write to a thread's state, as `aupdate_state` does; see `complete_edits` for what is taken."""
        state = (await self.aget_state(config)).values
        return await super().abulk_update_state(config, complete_edits(supersteps, state, self._types))

    @property
    def _types(self) -> dict[str, Any]:
        return state_keys(self.builder.state_schema)

    def _check_input(self, given: object) -> None:
        if isinstance(given, str):
            raise QuestionError('the input is a text; give {"question": "…"}')
        if isinstance(given, Command):
            command = cast("Command[Any]", given)
            check_command(command.update, command.goto, self._types)

    def _resolved(self, config: RunnableConfig | None, options: dict[str, Any]) -> dict[str, Any]:
        given: object = options.get("context")
        cls = cast("type[Context]", self.context_schema)
        host = _host()
        if host is None:
            for each in (config, self.config):
                _refuse_misplaced_settings(each, given, cls)
        elif given is None and host.context is not None:
            return options  # inherited
        is_foreign = not isinstance(given, Mapping | Context | None) and not hasattr(given, "hopgraph")
        if is_foreign and host is None:
            kind = f"the class {given.__name__}" if isinstance(given, type) else type(cast("object", given)).__name__
            raise SettingsError(f"context must be a {cls.__name__}, a dict or None, not {kind}")
        if isinstance(given, Mapping) and "hopgraph" not in (settings := cast("Mapping[str, Any]", given)):
            return {**options, "context": begin_run(make_settings(cls, settings), cls)}
        return {**options, "context": begin_run(cast("object", given), cls)}

    def _own_config(self, config: RunnableConfig | None) -> RunnableConfig:
        chosen = ensure_config(config)
        metadata = chosen.get("metadata") or {}
        chosen["metadata"] = {**metadata, **parent_task_metadata(metadata)}
        places = [config, self.config]
        if _host() is not None and _is_passed_on(config):
            places.reverse()
        limits = [limit for each in (*places, chosen) if (limit := _chosen_limit(each)) is not None]
        chosen["recursion_limit"] = limits[0] if limits else NO_RECURSION_LIMIT
        return chosen


def _host() -> Runtime[Any] | None:
    """Return the runtime of the graph in whose node this runs; None if there is none."""
    try:
        return cast("Runtime[Any] | None", get_runtime())
    except RuntimeError:  # not inside any runnable
        return None


def _is_passed_on(config: RunnableConfig | None) -> bool:
    """Return whether a config comes from LangChain, which fills in every key, or a host graph, not from a caller."""
    if config is None:
        return False
    return config.keys() >= _COMPLETED.keys() or "langgraph_node" in (config.get("metadata") or {})


def _chosen_limit(config: RunnableConfig | None) -> int | None:
    """Return the limit of steps that somebody chose; None for none, and for LangChain's default where it came along."""
    limit = (config or {}).get("recursion_limit")
    is_default = limit == _COMPLETED["recursion_limit"] and not isinstance(limit, _ChosenLimit)
    return None if is_default and _is_passed_on(config) else limit


def _as_chosen(config: GivenConfigs) -> Any:
    """Mark the limits of steps that a caller of a batch names."""
    if isinstance(config, Sequence):
        return [_as_chosen(each) for each in config]
    limit = _chosen_limit(config)
    return config if config is None or limit is None else {**config, "recursion_limit": _ChosenLimit(limit)}


def _without_frames(error: HopgraphError) -> HopgraphError:
    """Drop LangGraph's frames and its notes on tasks: the message says what is wrong, and the frames only where."""
    error.__notes__ = []
    return error.with_traceback(None)


def _refuse_misplaced_settings(config: RunnableConfig | None, context: object, cls: Any) -> None:
    """Refuse settings in `config["configurable"]`, where nothing would read them.

    A LangGraph server copies the context there.
    """
    given: Mapping[str, Any] = (config or {}).get("configurable") or {}
    copied = cast("Mapping[str, Any]", context).keys() if isinstance(context, Mapping) else ()
    if misplaced := sorted((given.keys() & cls.model_fields.keys()).difference(copied)):
        raise SettingsError(
            f"{misplaced[0]!r} is a setting; pass it as context={cls.__name__}({misplaced[0]}=…) instead of "
            "config['configurable']"
        )
