"""Beyond this machine every server demands a key, or does not start."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.cli.serving_commands import AUTH, http_config
from hopgraph.tools.apps.server import langgraph_app
from support.paths import ROOT
from support.servers.trap import ANN
from support.waiting import PATIENCE

EVERYWHERE = "0.0.0.0"  # noqa: S104
DEVELOPING = {"LANGSMITH_LANGGRAPH_API_VARIANT": "local_dev"}


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "192.0.2.1", "chat.example"])
def test_hopgraph_serve_demands_a_key(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("serve", "--host", host)) == 2
    assert "callers must send a key; set HOPGRAPH_API_KEY" in capsys.readouterr().err


def test_hopgraph_serve_is_guarded_as_the_projects_file_says() -> None:
    described = json.loads((ROOT / "langgraph.json").read_text())
    assert described["auth"] == AUTH
    assert described["http"] == http_config()


@pytest.mark.usefixtures("only_hook")  # which takes the guard's own away again
@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"LANGSMITH_LANGGRAPH_API_VARIANT": "local_docker", "LANGGRAPH_API_URL": "http://127.0.0.1:8123"},
        {**DEVELOPING, "LANGGRAPH_API_URL": f"http://{EVERYWHERE}:2024"},
        {**DEVELOPING, "LANGGRAPH_API_URL": "https://some-words.trycloudflare.com"},
        DEVELOPING,
    ],
    ids=["container", "langgraph up", "every address", "tunnel", "unknown"],
)
def test_the_guard_of_any_other_server_demands_a_key(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name in ("LANGSMITH_LANGGRAPH_API_VARIANT", "LANGGRAPH_API_URL", "HOPGRAPH_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    module: Any = langgraph_app
    with pytest.raises(SettingsError, match="callers must send a key; set HOPGRAPH_API_KEY"):
        _ = module.guard
    monkeypatch.setenv("HOPGRAPH_API_KEY", ANN)
    monkeypatch.setitem(vars(langgraph_app), "guard", None)  # so that it is taken away again
    monkeypatch.delitem(vars(langgraph_app), "guard")
    assert module.guard


@pytest.mark.slow
def test_langgraph_dev_does_not_start_on_every_address_without_a_key(tmp_path: Path) -> None:
    for name in ("langgraph.json", "pyproject.toml", "README.md", "graphs"):
        (tmp_path / name).symlink_to(ROOT / name)
    variables = {name: value for name, value in os.environ.items() if name != "HOPGRAPH_API_KEY"}
    ran = subprocess.run(
        [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--host", EVERYWHERE],
        cwd=tmp_path,
        env={**variables, "LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode != 0
    assert "callers must send a key; set HOPGRAPH_API_KEY" in ran.stdout + ran.stderr
