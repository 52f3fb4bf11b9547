"""A compiled method: how calls, streams and host graphs enter it."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from contextvars import Context as ContextVariables
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast, overload

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command, GraphOutput, StateUpdate, StreamMode, StreamPart
from typing_extensions import TypeVar

from hopgraph.nodes.core.state_edits import check_command, check_names, complete_edits
from hopgraph.nodes.core.step_events import parent_task_metadata
from hopgraph.nodes.core.step_function import state_keys
from hopgraph.state.context import Context, explicit_settings, make_settings, setting_like
from hopgraph.state.errors import HopgraphError, QuestionError, SettingsError
from hopgraph.state.run_settings import begin_run, settings_of_run
from hopgraph.tools.io.background import run_in_background

StateT = TypeVar("StateT", bound=Any, default=Any)
ContextT = TypeVar("ContextT", bound=Any, default=Any)
InputT = TypeVar("InputT", bound=Any, default=Any)
OutputT = TypeVar("OutputT", bound=Any, default=Any)

GraphInput: TypeAlias = InputT | Command[Any] | None
"""The input that starts or resumes a run: a state, a resume value, or None to continue where it stopped."""
GivenConfigs: TypeAlias = RunnableConfig | Sequence[RunnableConfig] | None

NO_RECURSION_LIMIT = 10_000

AGENT_NAME = "lc_agent_name"
"""The metadata key under which LangChain's agents announce their name; here, those within another graph."""
_COMPLETED: Mapping[str, Any] = ContextVariables().run(ensure_config)
"""The config that `batch` and chains derive from None: they pass its step limit on as if it had been chosen."""


class _ChosenLimit(int):
    """A step limit chosen by the caller of a batch, even if it equals LangChain's default."""


class CompiledMethod(CompiledStateGraph[StateT, ContextT, InputT, OutputT]):
    """A compiled graph with typed results, not cut off by LangChain's default limit of 25 steps.

    `batch` and chains around the graph pass that default on as if it had been chosen, and five iterations take more
    steps; every loop of a method ends on a counter in its state. An explicit `recursion_limit` is respected, in
    `with_config` and, with precedence, in a call or a batch; inside another graph `with_config` overrides that graph's.
    Only 25 itself, chosen for a chain or a host graph, cannot be told from the default: set it with `with_config`.

    As a node of another graph it passes that node's position on to its own tasks, so that the events of both share one
    order.
    """

    @classmethod
    def of(cls, compiled: CompiledStateGraph[Any, Any, Any, Any]) -> Self:
        """Turn a compiled graph into this class, for which `StateGraph.compile` has no option."""
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
        """Run the graph to its end, entirely on the background loop.

        Inside another graph, or with a checkpointer, store or cache, which may be sync only, each node is sent there
        separately.
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
        """Run the graph and yield its steps, each node separately on the background loop."""
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
        """Run the graph and yield its steps; `ainvoke` and `abatch` also come through here."""
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
        """Run the graph for several inputs concurrently; results in input order."""
        return super().batch(inputs, _as_chosen(config), **options)

    async def abatch(self, inputs: Any, config: GivenConfigs = None, **options: Any) -> list[OutputT]:
        """Run the graph for several inputs concurrently; results in input order."""
        return await super().abatch(inputs, _as_chosen(config), **options)

    def batch_as_completed(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, inputs: Any, config: GivenConfigs = None, **options: Any
    ) -> Iterator[tuple[int, Any]]:
        """Run the graph for several inputs concurrently; yield (input index, result) as they finish."""
        return super().batch_as_completed(inputs, _as_chosen(config), **options)

    def abatch_as_completed(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, inputs: Any, config: GivenConfigs = None, **options: Any
    ) -> AsyncIterator[tuple[int, Any]]:
        """Run the graph for several inputs concurrently; yield (input index, result) as they finish."""
        return super().abatch_as_completed(inputs, _as_chosen(config), **options)

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Write to a thread's state, as `update_state` does; see `complete_edits` for what is accepted."""
        state = self.get_state(config).values
        return super().bulk_update_state(config, complete_edits(supersteps, state, self._types))

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Write to a thread's state, as `aupdate_state` does; see `complete_edits` for what is accepted."""
        state = (await self.aget_state(config)).values
        return await super().abulk_update_state(config, complete_edits(supersteps, state, self._types))

    @property
    def _types(self) -> dict[str, Any]:
        return {
            **dict.fromkeys(cast("dict[str, Any]", self.builder.channels), Any),
            **state_keys(self.builder.state_schema),
        }

    def _check_input(self, given: object) -> None:
        if isinstance(given, str | int | float | list | tuple):
            [key, *_] = state_keys(cast("Any", self.builder.input_schema))
            kind = "string" if isinstance(given, str) else type(cast("object", given)).__name__
            raise QuestionError(f'the input is a {kind}; pass {{"{key}": "…"}}')
        if isinstance(given, Command):
            command = cast("Command[Any]", given)
            check_command(command.update, command.goto, self._types)
            check_names(command, self._types, self.builder.nodes)

    def _resolved(self, config: RunnableConfig | None, options: dict[str, Any]) -> dict[str, Any]:
        given: object = options.get("context")
        cls = cast("type[Context]", self.context_schema)
        host = _host()
        if host is None:
            # A LangGraph server copies the context into `config["configurable"]`.
            copied = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else ()
            for each in (config or {}, self.config or {}):
                _refuse_misplaced_settings(each, "config", (), cls)
                _refuse_misplaced_settings(each.get("configurable") or {}, "config['configurable']", copied, cls)
            _refuse_misplaced_settings(options, "the call", ("context",), cls)
        elif given is None and host.context is not None:
            return {**options, "context": settings_of_run(host.context, cls)}
        is_foreign = not isinstance(given, Mapping | Context | None) and not hasattr(given, "hopgraph")
        if is_foreign and host is None:
            kind = f"the class {given.__name__}" if isinstance(given, type) else type(cast("object", given)).__name__
            raise SettingsError(f"context must be a {cls.__name__}, a dict or None, not {kind}")
        if isinstance(given, Mapping) and "hopgraph" not in (settings := cast("Mapping[str, Any]", given)):
            # ag-ui-langgraph copies `config["configurable"]`, such as `thread_id`, into the context.
            copied = (config or {}).get("configurable") or {}
            own = {name: each for name, each in settings.items() if name not in copied or setting_like(name, cls)}
            return {**options, "context": begin_run(make_settings(cls, own), cls)}
        if isinstance(given, Context) and host is None:  # `model_copy` checks nothing
            given = make_settings(type(given), explicit_settings(given))
        return {**options, "context": begin_run(cast("object", given), cls)}

    def _own_config(self, config: RunnableConfig | None) -> RunnableConfig:
        chosen = ensure_config(config)
        metadata = chosen.get("metadata") or {}
        named = {AGENT_NAME: self.name} if "messages" in self.channels and _host() is not None else {}
        chosen["metadata"] = {**metadata, **named, **parent_task_metadata(metadata)}
        places = [config, self.config]
        if _host() is not None and _is_passed_on(config):
            places.reverse()
        limits = [limit for each in (*places, chosen) if (limit := _chosen_limit(each)) is not None]
        chosen["recursion_limit"] = limits[0] if limits else NO_RECURSION_LIMIT
        return chosen


def _host() -> Runtime[Any] | None:
    """Return the runtime of the graph whose node this runs in; None if there is none."""
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
    """Return the explicitly chosen step limit; None for none, and for an inherited LangChain default."""
    limit = (config or {}).get("recursion_limit")
    is_default = limit == _COMPLETED["recursion_limit"] and not isinstance(limit, _ChosenLimit)
    return None if is_default and _is_passed_on(config) else limit


def _as_chosen(config: GivenConfigs) -> Any:
    """Mark the step limits that a caller of a batch sets."""
    if isinstance(config, Sequence):
        return [_as_chosen(each) for each in config]
    limit = _chosen_limit(config)
    return config if config is None or limit is None else {**config, "recursion_limit": _ChosenLimit(limit)}


def _without_frames(error: HopgraphError) -> HopgraphError:
    """Drop LangGraph's frames and its notes on tasks: the message says what is wrong; the frames only say where."""
    error.__notes__ = []
    return error.with_traceback(None)


def _refuse_misplaced_settings(
    given: Mapping[str, Any], where: str, allowed: Iterable[str], cls: type[Context]
) -> None:
    """Refuse settings, even misspelt ones, and a whole context where nothing would read them."""
    for name in sorted(given.keys() - {*allowed}):
        if name in ("context", "hopgraph"):
            raise SettingsError(f"{name!r} in {where} is not read; pass context={cls.__name__}(…) in the call")
        if meant := setting_like(name, cls):
            instead = f"pass it as context={cls.__name__}({meant}=…) instead of {name!r} in {where}"
            raise SettingsError(f"{meant!r} is a setting; {instead}")
