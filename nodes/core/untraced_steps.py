"""Run a node and its routers without what LangGraph prepares for callback handlers, in runs that have none.

For each node LangGraph starts a traced run, and for each router it copies every channel of the state. Where no handler
watches, neither can be seen, and both take longer than most steps.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator, Mapping
from contextvars import Context, copy_context
from functools import cached_property, partial
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.channels import LastValue
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite

from hopgraph.tools.io.callbacks import callback_handlers

_OF_ONE_RUN = ("run_name", "run_id")
"""The keys of a config that are those of a run, and not of what it calls."""


def run_untraced(graph: CompiledStateGraph[Any, Any, Any, Any], kind: type[Runnable[Any, Any]]) -> None:
    """Let those nodes of a compiled graph that are of a kind run untraced where no callback handler watches."""
    channels, nodes = cast("Mapping[str, object]", graph.channels), cast("Mapping[str, Any]", graph.nodes)
    replaced = frozenset(name for name, channel in channels.items() if isinstance(channel, LastValue))
    for node in nodes.values():
        if isinstance(node.bound, kind) and hasattr(node.node, "steps"):  # else it writes nothing
            node.node = _UntracedNode(node.node, replaced)


class Router(Runnable[Any, Any]):
    """A router that is a plain function: run on the event loop, and as a run of its own only where one is traced."""

    def __init__(self, traced: Any, *, takes_mapping: bool) -> None:
        """Wrap what `StateGraph` made of the function; `takes_mapping`: untraced the state need not be a dict."""
        self.name, self.takes_mapping, self._traced = traced.name, takes_mapping, traced
        traced.afunc = self._call  # in place of a thread

    async def _call(self, state: Any) -> Any:
        return self._traced.func(state)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Return where the state leads."""
        return self._traced.invoke(input, config) if callback_handlers(config) else self._traced.func(input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Return where the state leads."""
        return await self._traced.ainvoke(input, config) if callback_handlers(config) else self._traced.func(input)


class _UntracedNode(Runnable[Any, Any]):
    """A node with what writes its update and follows its edges; `traced` is LangGraph's own sequence of these."""

    def __init__(self, traced: Any, replaced: frozenset[str]) -> None:
        self.name, self._traced, self._replaced = traced.name, traced, replaced
        self._node, *writers = traced.steps
        self._writers = [(each, _state_reader(each)) for each in writers]

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        return self._traced.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        patched = hasattr(cast("Any", type(self._traced)).ainvoke, "__wrapped__")  # by a monitoring agent
        if config is None or patched or callback_handlers(config):
            return await self._traced.ainvoke(input, config, **kwargs)
        own: Any = {key: value for key, value in config.items() if key not in _OF_ONE_RUN}
        context = copy_context()
        context.run(var_child_runnable_config.set, own)
        update = await _InContext(self._node.ainvoke(input, own), context)
        for writer, reader in self._writers:
            is_lazy = reader and isinstance(cast("object", update), dict)
            given = {"reader": self._lazy_reader(reader, input, update)} if is_lazy else {}
            await writer.ainvoke(update, own, **given)
        return update

    async def astream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        async for chunk in self._traced.astream(input, config, **kwargs):  # only handlers ask for it
            yield chunk

    def _lazy_reader(self, reader: Any, state: Mapping[str, Any], update: Mapping[str, Any]) -> Callable[..., Any]:
        """Return what reads the state with the update for a router, and only what the router asks for."""
        known = {"settings": state["settings"]} if "settings" in state else {}
        for key in update.keys() & self._replaced:
            if not isinstance(update[key], Overwrite):
                known[key] = update[key]
        return partial(_StateAfterNode, known, reader)


def _state_reader(writer: Any) -> Any:
    """Return what reads the whole state for a router that takes a mapping; None for other writers."""
    reader = writer.kwargs.get("reader")
    return reader if reader and getattr(writer.func.__self__.path, "takes_mapping", False) else None


class _InContext(Awaitable[Any]):
    """Runs a coroutine in a context of its own, as a task would, which takes several times as long to make."""

    def __init__(self, work: Coroutine[Any, Any, Any], context: Context) -> None:
        self._work, self._context = work, context

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[Any], Any] = self._work.send
        given: Any = None
        while True:
            try:
                waited = self._context.run(step, given)
            except StopIteration as done:
                return done.value
            try:
                step, given = self._work.send, (yield waited)
            except GeneratorExit:
                self._context.run(self._work.close)
                raise
            except BaseException as error:  # noqa: BLE001 - the coroutine's to handle
                step, given = self._work.throw, error


class _StateAfterNode(Mapping[str, Any]):
    """The state with a node's update: what the node replaced and the settings are at hand, the rest is read if asked.

    Of what the node was given only the settings are the state's: a `Send` may have given it something else.
    """

    def __init__(self, known: Mapping[str, Any], read: Any, config: RunnableConfig) -> None:
        self._known, self._read, self._config = known, read, config

    @cached_property
    def _whole(self) -> Mapping[str, Any]:
        return self._read(self._config)

    def __getitem__(self, key: str) -> Any:
        return self._known[key] if key in self._known else self._whole[key]

    def __contains__(self, key: object) -> bool:
        return key in self._known or key in self._whole

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)
