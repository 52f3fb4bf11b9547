"""Whether a callback handler watches a call."""

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler
from langchain_core.globals import set_debug
from langchain_core.tracers.context import (
    _configure_hooks,  # pyright: ignore[reportPrivateUsage]
    register_configure_hook,
)

from hopgraph.tools.io.callbacks import is_watched

HANDLER = BaseCallbackHandler()
HOOK: ContextVar[Any] = ContextVar("HOOK", default=None)


@pytest.fixture(autouse=True)
def _only_this_hook() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Set aside the hooks of apps that ran in this process before: they count every call."""
    before = list(_configure_hooks)
    _configure_hooks.clear()
    register_configure_hook(HOOK, inheritable=False)
    yield
    _configure_hooks[:] = before


@pytest.mark.parametrize(
    ("config", "watched"),
    [
        (None, False),
        ({}, False),
        ({"callbacks": []}, False),
        ({"callbacks": [HANDLER]}, True),
        ({"callbacks": AsyncCallbackManager([])}, False),
        ({"callbacks": AsyncCallbackManager([HANDLER])}, True),
    ],
)
def test_handlers_of_the_config_watch(config: Any, watched: bool) -> None:
    assert is_watched(config) is watched


def test_handlers_that_langchain_adds_watch() -> None:
    set_debug(True)
    try:
        assert is_watched(None)
    finally:
        set_debug(False)
    token = HOOK.set(HANDLER)
    try:
        assert is_watched({"callbacks": AsyncCallbackManager([])})
    finally:
        HOOK.reset(token)
    assert not is_watched(None)
