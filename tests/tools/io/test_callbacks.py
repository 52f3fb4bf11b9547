"""Whether a callback handler watches a call."""

from contextvars import ContextVar
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler
from langchain_core.globals import set_debug
from langchain_core.tracers.context import register_configure_hook

from hopgraph.tools.io.callbacks import is_watched

HANDLER = BaseCallbackHandler()
HOOK: ContextVar[Any] = ContextVar("HOOK", default=None)
register_configure_hook(HOOK, inheritable=False)


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
