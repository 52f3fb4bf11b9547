"""The settings of one run: resolved when it starts or resumes, with values derived from them."""

import time
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from hopgraph.state.context import Context, ContextT
from hopgraph.state.environment import resolve_settings

ValueT = TypeVar("ValueT")

_BEGAN = "began"
_derived: dict[int, dict[object, Any]] = {}
"""Values derived from the settings of current runs, by the settings' identity."""


def begin_run(given: object, cls: type[ContextT]) -> ContextT:
    """Resolve the settings of a run (`resolve_settings`) into a new object that no other run shares."""
    settings = resolve_settings(given, cls).model_copy()
    _derived[id(settings)] = {_BEGAN: time.perf_counter()}
    weakref.finalize(settings, _derived.pop, id(settings), None).atexit = False
    return settings


def settings_of_run(given: object, cls: type[ContextT]) -> ContextT:
    """Return the run's settings for a node: those it started with, converted once for another method's nodes.

    Anything else, such as a host graph's own context, begins a run.
    """
    if id(given) not in _derived:
        return begin_run(given, cls)
    return given if isinstance(given, cls) else once_per_run(cast("Context", given), cls, lambda: begin_run(given, cls))


def once_per_run(settings: Context, name: object, make: Callable[[], ValueT]) -> ValueT:
    """Call `make` once per run and keep its value; for settings outside a run, call it every time."""
    known = _derived.get(id(settings))
    if known is None:
        return make()
    if name not in known:
        known[name] = make()
    return known[name]


def seconds_of_run(settings: Context) -> float:
    """Return the seconds since the current run started or resumed; 0 outside a run."""
    return time.perf_counter() - once_per_run(settings, _BEGAN, time.perf_counter)


async def awaited_once_per_run(settings: Context, name: object, make: Callable[[], Awaitable[ValueT]]) -> ValueT:
    """Return the awaited result of `make`: `once_per_run` for coroutines. Concurrent callers may both make it."""
    known = once_per_run(settings, "awaited", dict[object, Any])
    if name not in known:
        known[name] = await make()
    return known[name]
