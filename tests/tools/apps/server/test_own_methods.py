"""Custom methods by path are for the owner only; callers use them by name."""

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from hopgraph.graphs import METHODS, chat, find_method
from hopgraph.state import SettingsError
from hopgraph.state.chat import settings_for_method
from hopgraph.tools.apps.server.page.chat_session import ChatSession, TurnOptions
from hopgraph.tools.apps.server.page.review_form import answer_next, review_form
from hopgraph.tools.apps.server.page.texts import ENGLISH
from support.own_methods import ASKING, PLAIN, forget_added_methods
from support.paths import ROOT
from support.servers.protocols import agent_request
from support.servers.web_app import WebApp, chat_process, open_app, without_page

EVIL = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_added_methods(monkeypatch)


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Paths of code that must not run."""
    (tmp_path / "evil.py").write_text(EVIL, "utf-8")
    monkeypatch.chdir(tmp_path)
    yield ["evil.py", str(tmp_path / "evil.py"), "evil:graph", "evil.py:graph", "hopgraph.graphs.migres:graph"]
    assert not (tmp_path / "ran").exists()


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[WebApp]:
    (tmp_path / "plain.py").write_text(PLAIN, "utf-8")
    find_method(str(tmp_path / "plain.py"))
    async with open_app(without_page(tmp_path, settings={"use_method": "plain"})) as opened:
        yield opened


def asked(model: str) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "Who?"}]}


async def test_callers_use_a_custom_method_by_its_name(app: WebApp) -> None:
    async with httpx.AsyncClient(base_url=app.url, timeout=60) as http, Client(f"{app.url}/mcp") as tools:
        assert "plain" in [each["id"] for each in (await http.get("/v1/models")).json()["data"]]
        for model in ("auto", "plain"):
            said = (await http.post("/v1/chat/completions", json=asked(model))).json()
            assert said["choices"][0]["message"]["content"].startswith("mild answer to Who? x2")
        found: Any = await tools.call_tool("plain", {"question": "Who?"})
        assert found.structured_content["answer"] == "mild answer to Who? x2"
    settings = app.service.settings("plain", {"tone": "rude"})
    assert settings_for_method(settings, METHODS["plain"].Context).tone == "rude"


async def test_a_custom_interrupt_is_answered_on_the_page_and_by_ag_ui(tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text(ASKING, "utf-8")
    find_method(str(tmp_path / "asking.py"))
    async with open_app(without_page(tmp_path, settings={"use_method": "asking"})) as app:
        page = ChatSession(lambda: app.service)
        views = [view async for view in (await page.ask("ann", "", "Who?", TurnOptions(method="asking"))).follow()]
        assert views[-1].turns[-1].ended == "paused"
        gradio: Any = import_module("gradio")
        with gradio.Blocks() as blocks:
            review_form(gradio, views[-1].asked, ENGLISH, lambda button, inputs, make: None)
        shown = [each for each in blocks.blocks.values() if isinstance(each, gradio.HTML)]
        assert "one or two?" in str(shown[0].value)
        answered = answer_next(views[-1].asked, "two")
        views = [view async for view in (await page.review("ann", views[-1].thread, answered)).follow()]
        assert views[-1].turns[-1].told["answer"] == "two"
        async with httpx.AsyncClient(base_url=app.url, timeout=60) as http:
            given = agent_request("Who?", forwardedProps={})
            asking = (await http.post("/ag-ui", json=given)).text.splitlines()[-2]
            (pause,) = json.loads(asking.removeprefix("data: "))["outcome"]["interrupts"]
            assert (pause["reason"], pause["message"]) == ("question", '{"which": "one or two?"}')
            resume = [{"interruptId": pause["id"], "status": "resolved", "payload": "one"}]
            done = (await http.post("/ag-ui", json={**given, "runId": "r2", "resume": resume})).text
            assert '"answer":"one"' in done.replace(" ", "")
            refused = await http.post("/v1/chat/completions", json=asked("asking"))
            assert "pauses the run and needs a checkpointer" in refused.json()["error"]["message"]


async def test_callers_cannot_name_code(app: WebApp, evil: list[str]) -> None:
    async with httpx.AsyncClient(base_url=app.url, timeout=60) as http, Client(f"{app.url}/mcp") as tools:
        for place in evil:
            assert (await http.post("/v1/chat/completions", json=asked(place))).status_code == 404
            assert (await http.get(f"/v1/models/{place.replace('/', '%2F')}")).status_code == 404
            assert (await tools.call_tool(place, {"question": "Who?"})).is_error
    for place in evil:
        for name, changes in ((place, {}), ("auto", {"use_method": place}), ("auto", {"methods": {place: {}}})):
            with pytest.raises(SettingsError):
                app.service.settings(name, changes)
        contexts: list[dict[str, Any]] = [{"use_method": place}, {"methods": {place: {}}}]
        for given in contexts:
            with pytest.raises(SettingsError, match="is unknown; a chat has: migres"):
                await chat.graph.ainvoke({"messages": [("user", "Who?")]}, context=chat.Context(**given))


def test_neither_a_server_nor_a_node_loads_code() -> None:
    for folder in ("state", "nodes", "tools/apps/server", "tools/apps/runs"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text("utf-8")
            assert "find_method" not in text, path
            if path.name != "identity.py":  # loads the operator's identity function
                assert "load_object" not in text, path


@pytest.mark.long
async def test_mcp_and_chat_offer_a_custom_method(tmp_path: Path) -> None:
    place = tmp_path / "plain.py"
    place.write_text(PLAIN, "utf-8")
    command = ["-c", "from hopgraph.tools.apps.cli import script; script()", "mcp", "--method", str(place)]
    started = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    async with Client(stdio_client(started)) as client:
        found: Any = await client.call_tool("plain", {"question": "Who?"})
    assert found.structured_content["answer"] == "mild answer to Who? x2"
    example = ROOT / "examples" / "checked_answer" / "checked_answer.py"
    with chat_process(tmp_path, "--method", str(example)) as running:
        async with httpx.AsyncClient(base_url=running.url, timeout=60) as http:
            said = (await http.post("/v1/chat/completions", json=asked("auto"))).json()
    assert said["hopgraph"]["method"] == "checked_answer"
