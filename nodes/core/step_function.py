"""The function of a node or a router, called with the arguments that its parameters name, as in `StateGraph`."""

import asyncio
import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from traceback import walk_tb
from typing import Any, Self, cast, get_type_hints

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from hopgraph.state.errors import HopgraphError, SettingsError

_OUR_OWN = f"{__name__.partition('.')[0]}."
INJECTED = {"config": dict, "runtime": object, "writer": Callable, "store": BaseStore, "previous": object}
"""Parameters that a function may name after the state, each with its kind."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class StepFunction:
    """A sync or async function, partial or callable object, checked when it is added rather than when it runs."""

    function: Callable[..., Any]
    schema: type[Any]
    """The type of its state: a TypedDict, a dataclass or a pydantic model."""
    takes: frozenset[str]
    """Which of `INJECTED` it receives."""
    returns: object
    """Its annotated return type; None if there is none."""
    is_async: bool
    is_ours: bool

    @classmethod
    def of(cls, what: str, function: Callable[..., Any], state: type[Any]) -> Self:
        """Inspect a function's signature; its state type is its first parameter's annotation, else `state`.

        A SettingsError names, after `what`, a parameter that cannot be filled.
        """
        try:
            first, *others = inspect.signature(function).parameters.values()
        except ValueError:
            raise SettingsError(
                f"{what}: it has no parameter for the state; write (state), (state, runtime), …"
            ) from None
        bound: Mapping[str, Any] = getattr(function, "keywords", {})  # of a partial
        hints = _hints(function)
        takes = {each.name for each in others if each.kind in _NAMED and _is_injected(each.name, hints)} - bound.keys()
        for each in (first, *others):
            required = each.default is each.empty and each.kind not in _STARRED and each.name not in takes
            if (each is first and each.kind in (each.KEYWORD_ONLY, each.VAR_KEYWORD)) or (
                each is not first and required
            ):
                raise SettingsError(
                    f"{what}: its parameter {each.name!r} cannot be filled; after the state it may have "
                    f"{', '.join(INJECTED)}, each of LangGraph's type, or parameters with a default"
                )
        annotated = hints.get(first.name)
        has_keys = isinstance(annotated, type) and bool(state_keys(annotated))
        called = getattr(function, "__call__", None)  # noqa: B004 - of a callable object
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
        is_ours = getattr(function, "__module__", "").startswith(_OUR_OWN)
        schema = cast("type[Any]", annotated) if has_keys else state
        return cls(function, schema, frozenset(takes), hints.get("return"), is_async, is_ours)

    def call(self, state: Any, runtime: Runtime[Any], config: RunnableConfig) -> Any:
        """Call the function; the result is a coroutine if it is async."""
        known = {
            "config": config,
            "runtime": runtime,
            "writer": runtime.stream_writer,
            "store": runtime.store,
            "previous": runtime.previous,
        }
        is_made = isinstance(state, Mapping) and (is_dataclass(self.schema) or issubclass(self.schema, BaseModel))
        given = self.schema(**cast("dict[str, Any]", state)) if is_made else cast("Any", state)
        return self.function(given, **{name: known[name] for name in self.takes})

    async def run(self, state: Any, runtime: Runtime[Any], config: RunnableConfig) -> Any:
        """Call the function and wait for its result; a sync one runs in a thread, as it may block."""
        given = state, runtime, config
        found: Any = self.call(*given) if self.is_async else await asyncio.to_thread(self.call, *given)
        return await resolve_result(found, state, config)

    @contextmanager
    def explain_failure(self, what: str, state: Any) -> Generator[None]:
        """Turn a key that the state lacks into a SettingsError, and what our own code fails on into a HopgraphError."""
        try:
            yield
        except (LookupError, ValueError) as error:
            key = error.args[0] if isinstance(error, KeyError) and error.args else None
            if isinstance(state, Mapping) and key not in state and key in state_keys(self.schema):
                why = "start at the graph's first node, or write it"
                raise SettingsError(f"{what}: the state has no {key!r}; {why}") from error
            *_, (frame, _) = walk_tb(error.__traceback__)
            if isinstance(error, HopgraphError) or not frame.f_globals.get("__name__", "").startswith(_OUR_OWN):
                raise
            why = f"it cannot work on this state ({type(error).__name__}: {error})"
            todo = "check the values that you wrote into it; if you wrote none, this is a bug, please report it"
            raise HopgraphError(f"{what}: {why}; {todo}") from error


async def resolve_result(found: Any, state: Any, config: RunnableConfig) -> Any:
    """Return what a function returned, an awaitable awaited and a runnable run with the state, as `StateGraph` does."""
    found = await found if inspect.isawaitable(found) else found
    return await cast("Any", found).ainvoke(state, config) if isinstance(found, Runnable) else found


def state_keys(schema: type[Any]) -> dict[str, Any]:
    """List the keys of a state type, with their types and reducers; empty for a type without keys."""
    hints = get_type_hints(schema, include_extras=True)
    if issubclass(schema, BaseModel):
        return {name: hints[name] for name in schema.model_fields}
    return {each.name: hints[each.name] for each in fields(schema)} if is_dataclass(schema) else hints


def _is_injected(name: str, hints: Mapping[str, Any]) -> bool:
    """Return whether a parameter gets the object that its name stands for: not if annotated as an unrelated class."""
    hint, kind = hints.get(name), cast("type[Any] | None", INJECTED.get(name))
    return kind is not None and (not isinstance(hint, type) or issubclass(hint, kind) or hint in kind.__mro__)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations; empty if they name what only type checkers import, as in `StateGraph`."""
    called: Any = function
    while isinstance(called, partial):
        called = cast("partial[Any]", called).func
    try:
        return get_type_hints(called if inspect.isroutine(called) else type(called).__call__)
    except (NameError, TypeError):
        return {}
