"""What the commands that serve say where no model is set."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("chat", "--no-browser", "--port", "0"), marks=pytest.mark.slow),  # it imports Gradio
        ("serve", "--port", "2032"),
        ("mcp",),
    ],
)
def test_they_say_that_a_stand_in_answers(run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    async def serve(_options: object, _listener: object, ready: Callable[[], None]) -> None:
        ready()

    async def run_stdio(_service: object, _only: object) -> None:
        pass

    for name in ("LANGGRAPH_NO_VERSION_CHECK", "LANGGRAPH_DISABLE_FILE_PERSISTENCE", "LOG_LEVEL"):
        monkeypatch.setenv(name, "")  # so that it is put back
    monkeypatch.setattr("hopgraph.tools.apps.server.web_app.serve", serve)
    monkeypatch.setattr("hopgraph.tools.apps.server.mcp_server.run_stdio", run_stdio)
    monkeypatch.setattr("langgraph_api.cli.run_server", lambda *_, **__: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # it would end the tests
    ran = run(*command)
    assert (ran.code, ran.out) == (0, "")
    said = " ".join(ran.err.split())
    assert said.startswith("No language model set; ")
    if command[0] != "mcp":
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
        assert "stand-in" not in run(*command, "--model", "openai:any").err
