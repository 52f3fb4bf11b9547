"""Whether a callback handler watches a call."""

from contextvars import ContextVar
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler
from langchain_core.globals import set_debug

from hopgraph.tools.io.callbacks import is_watched

HANDLER = BaseCallbackHandler()
pytestmark = pytest.mark.usefixtures("only_hook")


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


def test_handlers_that_langchain_adds_watch(only_hook: ContextVar[Any]) -> None:
    set_debug(True)
    try:
        assert is_watched(None)
    finally:
        set_debug(False)
    token = only_hook.set(HANDLER)
    try:
        assert is_watched({"callbacks": AsyncCallbackManager([])})
    finally:
        only_hook.reset(token)
    assert not is_watched(None)
