"""The settings of a chat and of the methods in it."""

import pytest

from hopgraph.state import SettingsError
from hopgraph.state.chat import ChatContext, settings_for_method
from hopgraph.state.migres import MigresContext


def test_a_method_gets_the_chats_settings_and_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_MAX_ITERATIONS", "7")
    monkeypatch.setenv("HOPGRAPH_TOP_K", "8")
    chat = ChatContext(top_k=3, seed=1, methods={"migres": {"seed": 2}})
    made = settings_for_method(chat, MigresContext)
    assert (made.top_k, made.seed, made.max_iterations) == (3, 2, 7)
    with pytest.raises(SettingsError, match=r"^methods: migres: setting 'x' is unknown"):
        settings_for_method(ChatContext(methods={"migres": {"x": 1}}), MigresContext)
