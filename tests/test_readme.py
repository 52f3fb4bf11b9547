"""README is true: its Python runs, its commands exist, its drawing is current."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.tools.apps.cli import main
from hopgraph.tools.models.offline import OfflineExtractive
from support.paths import ROOT
from support.servers.openai_server import OpenAIServer

README = (ROOT / "README.md").read_text(encoding="utf-8")
DRAWINGS = (ROOT / "graphs" / "DRAWINGS.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
SHELL = [
    line.split("#")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.strip()
]


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    """A real OpenAI-compatible server in the place of OpenAI, with the offline model behind it."""
    with OpenAIServer(OfflineExtractive(), api_key="sk-readme", models=("gpt-4.1-mini",)) as running:
        yield running


def test_it_opens_with_the_two_commands() -> None:
    assert [command.split()[:2] for command in SHELL[:2]] == [["make", "demo"], ["make", "test"]]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {command.split()[1] for command in SHELL if command.startswith("make ")} <= set(targets)


@pytest.mark.parametrize("snippet", PYTHON, ids=range(1, len(PYTHON) + 1))
def test_its_python_runs(
    snippet: str,
    server: OpenAIServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-readme")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    answers = {"Guadalajara", "Mara Lindqvist", "question", "Pablo Picasso"}
    assert not printed or any(answer in printed for answer in answers), printed


def test_its_commands_and_options_exist(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    ours = [shlex.split(command) for command in SHELL if command.startswith("hopgraph ")]
    assert ours
    for command in ours:
        assert main([command[1], "--help"]) == 0
        shown = capsys.readouterr().out
        for option in (word for word in command if word.startswith("--")):
            assert option in shown, f"{command[1]} has no {option}"


@pytest.mark.parametrize(
    ("page", "name"), [(README, "migres"), *((DRAWINGS, name) for name in METHODS if name not in ALIASES)]
)
def test_every_drawing_is_current(page: str, name: str) -> None:
    shown = re.search(rf"<!-- drawing: {name} -->\n```mermaid\n(.*?)```\n<!-- end of drawing -->", page, re.DOTALL)
    assert shown, "run: hopgraph draw METHOD, and paste it between the marks"
    assert shown[1].strip() == METHODS[name].graph.get_graph(xray=True).draw_mermaid().strip()


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_every_method_is_in_its_table() -> None:
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|.*$", README, re.MULTILINE))))
    assert set(METHODS) <= named
