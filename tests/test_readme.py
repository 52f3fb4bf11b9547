"""README is true: its Python runs, its commands exist, its links lead somewhere."""

import csv
import json
import os
import pty
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import hopgraph
from hopgraph.graphs import ALIASES, METHODS
from hopgraph.graphs.registry import find_paper
from hopgraph.tools.models.offline import RuleBasedModel
from support.paths import ROOT
from support.servers.openai_server import OpenAIServer

README = (ROOT / "README.md").read_text(encoding="utf-8")
LANGUAGE_MODEL = (ROOT / "docs" / "language_model.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
SHELL = [
    re.split(r"\s+# ", line)[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.strip()
]
NOT_RUN = {
    "make demo": "installs, as CI does, and asks as below",
    "python3 -m venv": "makes the environment that CI makes",
    "pip install": "fills it, as CI does",
    "export ": "sets a key, as the test does",
    "hopgraph serve": "CI starts it in the same environment",
    "hopgraph chat": "CI starts it in the same environment",
}
"""How commands begin that are not run, and why; every other one is."""
INSTALLED = os.environ.get("HOPGRAPH_INSTALLED", "")
"""The folder of the program in an environment of its own, which CI names."""
OLLAMA = "http://127.0.0.1:11434/v1"


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    """A real OpenAI-compatible server in the place of OpenAI, with the offline model behind it."""
    with OpenAIServer(RuleBasedModel(), api_key="sk-readme", models=("gpt-4.1-mini",)) as running:
        yield running


def test_it_opens_with_one_command_that_answers() -> None:
    assert [command.split()[:2] for command in SHELL[:4]] == [
        ["make", "demo"],
        ["python3", "-m"],
        ["pip", "install"],
        ["hopgraph", "ask"],
    ]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make (\w+)`", README)) <= set(targets)


def test_what_is_not_run_is_in_it() -> None:
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in SHELL), start


def test_no_page_names_what_an_outside_reader_does_not_have() -> None:
    for page in PAGES:
        assert "../shared" not in page.read_text(encoding="utf-8"), page


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="run by `make wheel`, where the wheel is installed")
def test_its_commands_run_in_an_empty_folder(server: OpenAIServer, tmp_path: Path) -> None:
    """With a server in OpenAI's and Ollama's place, and with the documents and questions that it speaks of."""
    (tmp_path / "my_documents").mkdir()
    (tmp_path / "my_documents" / "handbook.md").write_text("# Vacation\n\nEmployees get 27 days.\n", encoding="utf-8")
    own = {"question": "How many vacation days do employees get?", "answer": "27"}
    (tmp_path / "my_questions.jsonl").write_text(f"{json.dumps(own)}\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOPGRAPH", "PYTHON"))}
    environment |= {"OPENAI_API_KEY": "sk-readme", "OPENAI_BASE_URL": server.base_url, "NO_COLOR": "1"}
    commands = [command for command in SHELL if not command.startswith(tuple(NOT_RUN))]
    assert len(commands) >= 8
    for command in commands:
        words = shlex.split(command.replace(OLLAMA, server.base_url).replace("llama3.1:8b", "gpt-4.1-mini"))
        assert words[0] == "hopgraph", f"{command}: neither run nor among those that are not"
        keyboard, terminal = pty.openpty()
        os.write(keyboard, b"y\n" * 50)  # approves whatever --review asks
        program = [str(Path(INSTALLED, "hopgraph")), *words[1:]]
        ran = subprocess.run(program, cwd=tmp_path, env=environment, stdin=terminal, capture_output=True, text=True)
        os.close(keyboard)
        os.close(terminal)
        assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
        assert ran.stdout.strip(), command


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


PAGES = [
    *(page for pattern in ("*.md", "docs/*.md") for page in ROOT.glob(pattern)),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "``", page.read_text(encoding="utf-8"))
    assert [each for each in re.findall(r'src="([^"]+)"', text) if not (page.parent / each).is_file()] == []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        if target.startswith("https://") or target == "settings.md":  # which `make docs` writes
            continue
        linked = page.parent / target if target else page
        assert linked.is_file(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}, anchor


def test_the_site_lists_pages_that_exist() -> None:
    listed = {*re.findall(r"- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)}
    assert listed == {page.name for page in PAGES} - {"AGENTS.md"} | {"settings.md"}  # which `make docs` writes


def test_every_method_is_in_its_table_or_on_the_page_on_choosing() -> None:
    choosing = (ROOT / "docs" / "which_method.md").read_text(encoding="utf-8")
    assert [name for name in METHODS if METHODS[name].group == "others"] == [], "no group in graphs/registry.py"
    assert METHODS.keys() <= {*re.findall(r"`(\w+)`", "".join(re.findall(r"^\|.*$", README + choosing, re.MULTILINE)))}
    methods = [method for name, method in METHODS.items() if name not in ALIASES]
    baselines = [each for each in methods if each.group not in ("papers", "combined") and each.name != "gold_passages"]
    assert f"and lists all {len(methods)}." in README
    assert f"and {len(baselines)} baselines" in README


def test_it_has_at_most_1500_words_and_the_page_for_agents_40_lines() -> None:
    assert len(README.split()) <= 1500
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 40


def test_its_table_has_the_figures_of_the_page_with_a_language_model() -> None:
    measured = {name: (f1, gap, calls) for name, _, f1, _, gap, calls in rows(LANGUAGE_MODEL, 6)}
    shown = {name: (f1, gap.replace(" %", ""), calls) for name, _, f1, gap, calls, _ in rows(README, 6) if f1}
    assert shown == measured


def test_the_page_with_a_language_model_has_the_means_of_its_answers() -> None:
    with (ROOT / "docs" / "language_model.csv").open(encoding="utf-8", newline="") as file:
        answers = [*csv.DictReader(file)]
    found = [(name, em, f1.split()[0], calls) for name, em, f1, _, _, calls in rows(LANGUAGE_MODEL, 6)]
    assert len(found) == 12
    for method, *figures in found:
        own = [each for each in answers if each["method"] == method]
        assert len({(each["dataset"], each["id"]) for each in own}) == len(own) == 36
        means = [sum(float(each[name]) for each in own) / 36 for name in ("em", "f1", "llm_calls")]
        assert figures == [f"{100 * means[0]:.1f}", f"{100 * means[1]:.1f}", f"{means[2]:.1f}"]


def rows(page: str, columns: int) -> list[list[str]]:
    """The rows of a page's tables of methods, the first cell by the first name in it."""
    cells = [[each.strip() for each in line.strip("|").split("|")] for line in re.findall(r"^\| `.*\|$", page, re.M)]
    return [[re.findall(r"`(\w+)`", name)[0], *others] for name, *others in cells if len(others) == columns - 1]


def test_the_messages_of_the_troubleshooting_page_exist() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    starts = re.findall(r"^- (`.*)$", page, re.MULTILINE)
    quoted = [message for line in starts for message in re.findall(r"`([^`]+)`", re.split(r"`: ", line)[0] + "`")]
    source = "\n".join(
        path.read_text(encoding="utf-8") for top in ("nodes", "state", "tools") for path in (ROOT / top).rglob("*.py")
    )
    plain = re.sub(r'"\s*\n\s*f?"', "", source)
    assert len(quoted) > 10
    assert [message for message in quoted if message not in plain] == []


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == hopgraph.__version__
    methods = ("migres", "blendfilter", "genground", "ra_isf", "tree_of_reviews")
    papers = [find_paper(METHODS[name].docstring) or {} for name in methods]
    assert [each["title"] for each in citation["references"]] == [paper["title"] for paper in papers]
