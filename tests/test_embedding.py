"""The embedding guide is true: its code runs as it stands, against a real chat server and a real LangGraph server.

Where a snippet would ask OpenAI, a local server answers with the offline model; an agent's own turns are scripted.
What is written in JavaScript runs under Node and in a browser, with the packages that `make slow` installs.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from hopgraph.tools.models.offline import RuleBasedModel
from support.paths import ROOT
from support.servers.browsing import chromium_browser
from support.servers.endpoints import QUESTION, asked
from support.servers.langgraph_server import langgraph_server
from support.servers.loopback import LoopbackServer
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel
from support.servers.web_app import chat_process

pytestmark = pytest.mark.slow

GUIDE = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
KEY = "a-key-of-the-tests"
JAVASCRIPT = Path(__file__).parent / "javascript"
ENTRY = """
import { createRoot } from "react-dom/client";
createRoot(document.body.appendChild(document.createElement("main"))).render(<Chat />);
"""
ONE_AFTER_ANOTHER = """
import contextlib, io, json, runpy, sys
printed = []
for path in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(path, run_name="__main__")
    printed.append(out.getvalue())
print(json.dumps(printed))
"""
HOPGRAPH = [sys.executable, "-c", "from hopgraph.tools.apps.cli import main; raise SystemExit(main())"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


PYTHON = blocks("python")
WITH_LANGGRAPH = [snippet for snippet in PYTHON if "LANGGRAPH_URL" in snippet]
WITH_THE_APP = [snippet for snippet in PYTHON if "HOPGRAPH_URL" in snippet]
AN_AGENT = [snippet for snippet in PYTHON if "create_agent" in snippet]
BY_ITSELF = [snippet for snippet in PYTHON if snippet not in WITH_LANGGRAPH + WITH_THE_APP + AN_AGENT]


def an_agents_turn(messages: Sequence[BaseMessage]) -> AIMessage:
    """Look the user's question up, then say what was found."""
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(f"I found: {last.text}")
    return AIMessage("", tool_calls=[{"name": "look_up", "args": {"question": last.text}, "id": "call_1"}])


@pytest.fixture(scope="module")
def openai() -> Iterator[OpenAIServer]:
    """What stands in for OpenAI: the offline model for hopgraph's roles, and a script for an agent."""
    offline: BaseChatModel = RuleBasedModel()

    def reply(role: str, messages: list[BaseMessage]) -> str | AIMessage:
        return offline.invoke(messages).text if role else an_agents_turn(messages)

    with OpenAIServer(ScriptedChatModel(replies=reply), api_key="sk-guide", models=("gpt-4.1-mini",)) as running:
        yield running


@pytest.fixture(scope="module")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with chat_process(tmp_path_factory.mktemp("chat"), environment={"HOPGRAPH_API_KEY": KEY}) as chat:
        yield chat.url


@pytest.fixture(scope="module")
def page() -> Iterator[tuple[str, list[str]]]:
    """Another site: its address, and its script, which the list is to hold."""
    scripts: list[str] = []
    routes = [
        Route("/", lambda _: HTMLResponse('<body><script src="/chat.js"></script>')),
        Route("/chat.js", lambda _: Response(scripts[0], media_type="text/javascript")),
    ]
    with LoopbackServer(Starlette(routes=routes)) as served:
        yield served.url, scripts


@pytest.fixture(scope="module")
def langgraph_url(page: tuple[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that the other site may ask, as the guide says."""
    described = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    described["http"]["cors"]["allow_origins"].append(page[0])
    with langgraph_server(tmp_path_factory.mktemp("langgraph") / "log", described) as url:
        yield url


def printed_by(snippets: Sequence[str], folder: Path, **environment: str) -> dict[str, str]:
    """Run snippets as programs, one after another as each loads much, and return what each prints."""
    files = [folder / f"{number}.py" for number in range(len(snippets))]
    for file, snippet in zip(files, snippets, strict=True):
        file.write_text(snippet, encoding="utf-8")
    # Where `hopgraph` is installed; the MCP client starts it by its name.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", ONE_AFTER_ANOTHER, *files],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(zip(snippets, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def printed(openai: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is printed by the snippets that need no server of ours."""
    environment = {"OPENAI_API_KEY": "sk-guide", "OPENAI_BASE_URL": openai.base_url}
    return printed_by(BY_ITSELF + AN_AGENT, tmp_path_factory.mktemp("alone"), **environment)


@pytest.fixture(scope="module")
def clients_printed(app_url: str, langgraph_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is printed by the clients of our servers."""
    environment = {"HOPGRAPH_URL": app_url, "HOPGRAPH_API_KEY": KEY, "LANGGRAPH_URL": langgraph_url}
    return printed_by(WITH_THE_APP + WITH_LANGGRAPH, tmp_path_factory.mktemp("clients"), **environment)


def assert_as_asked(printed: str) -> None:
    """The answer is that of `hopgraph ask`, and so is what it cites."""
    expected = asked()
    assert expected["answer"] in printed
    for citation in expected["citations"]:
        assert citation["title"] in printed


_CLOSED = "400 documents: 'hr' is not available to you; leave it out, or use all"


@pytest.mark.parametrize("snippet", BY_ITSELF, ids=range(1, len(BY_ITSELF) + 1))
def test_its_python_runs(snippet: str, printed: dict[str, str]) -> None:
    said = printed[snippet]
    if "create_app" in snippet:
        # The first model, its health, before and after a log-in, or what is refused.
        assert said.strip() in ("auto", "ok", "401\n200", _CLOSED)
    elif "open_threads" in snippet:
        assert said.startswith("Pablo Picasso [1]")
    elif "MyRetriever" in snippet:
        assert said.splitlines()[0] == "Malmö"
        assert "[1] " in said
    elif 'stream_mode="custom"' in snippet:
        assert said.splitlines()[0] == f"searching: {QUESTION}"
        assert said.splitlines()[-1] == "answer: Guadalajara"
    else:
        assert_as_asked(said)


def test_an_agent_gets_the_citations_of_ask(printed: dict[str, str]) -> None:
    [snippet] = AN_AGENT
    assert printed[snippet].splitlines()[0] == "I found: Guadalajara"
    assert str([citation["quote"] for citation in asked()["citations"]]) in printed[snippet]


@pytest.mark.parametrize(
    "snippet", WITH_THE_APP + WITH_LANGGRAPH, ids=("openai", "langchain", "ag-ui", "mcp", "langgraph")
)
def test_its_clients_get_the_answer_of_ask(snippet: str, clients_printed: dict[str, str]) -> None:
    assert_as_asked(clients_printed[snippet])


def test_what_an_mcp_host_takes_starts_the_server() -> None:
    [block] = blocks("json")
    started: dict[str, Any] = json.loads(block)["mcpServers"]["hopgraph"]
    assert started["command"] == "hopgraph"
    command, *arguments = started["args"]
    shown = subprocess.run(
        [*HOPGRAPH, command, "--help"], capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"}, check=True
    ).stdout
    assert all(option in shown for option in arguments if option.startswith("--"))


def test_librechat_is_told_the_address_and_models_that_there_are() -> None:
    [block] = blocks("yaml")
    [endpoint] = yaml.safe_load(block)["endpoints"]["custom"]
    assert endpoint["baseURL"].endswith(":7860/v1")
    assert endpoint["models"]["default"] == ["auto", "migres"]


@pytest.fixture(scope="module")
def esbuild() -> Path:
    """Turns TypeScript and JSX into what Node and browsers run."""
    program = JAVASCRIPT / "node_modules" / ".bin" / "esbuild"
    if not program.exists():
        pytest.skip("needs npm and the packages of tests/javascript; `make slow` installs them")
    return program


def test_its_client_of_ag_ui_gets_an_answer(esbuild: Path, app_url: str, tmp_path: Path) -> None:
    [snippet] = blocks("ts")
    program = subprocess.run([esbuild, "--loader=ts"], input=snippet, capture_output=True, text=True, check=True).stdout
    (tmp_path / "node_modules").symlink_to(JAVASCRIPT / "node_modules")
    (tmp_path / "agent.mjs").write_text(program)
    environment = {**os.environ, "HOPGRAPH_URL": app_url, "HOPGRAPH_API_KEY": KEY}
    done = subprocess.run(
        ["node", "agent.mjs"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    first, *_, last = done.stdout.split("Pablo Picasso [1]")
    assert "hopgraph_step" in first
    assert "passage_id" in last


def test_its_react_component_answers_in_a_browser(
    esbuild: Path, page: tuple[str, list[str]], langgraph_url: str
) -> None:
    [snippet] = blocks("tsx")
    here, (site, scripts) = "http://127.0.0.1:2024", page
    assert here in snippet
    command = [esbuild, "--bundle", "--loader=tsx", "--jsx=automatic", '--define:process.env.NODE_ENV="production"']
    code = snippet.replace(here, langgraph_url) + ENTRY
    scripts.append(
        subprocess.run(command, input=code, cwd=JAVASCRIPT, capture_output=True, text=True, check=True).stdout
    )
    with chromium_browser() as browser:
        tab = browser.new_page()
        tab.goto(site)
        tab.locator("input").fill("Who painted Guernica?")
        tab.locator("input").press("Enter")
        tab.get_by_text("Pablo Picasso [1]").wait_for(timeout=120_000)
        assert tab.locator("p").first.inner_text() == "Who painted Guernica?"


def test_it_has_an_example_of_each_way() -> None:
    assert (len(BY_ITSELF), len(AN_AGENT), len(WITH_THE_APP), len(WITH_LANGGRAPH)) == (11, 1, 4, 1)
