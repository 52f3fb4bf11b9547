"""The MCP server, tested with the official client over stdio and HTTP."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.tools.apps.cli import main
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.endpoints import QUESTION, USERS, asked, by_model, until_idle
from support.servers.openai_server import OpenAIServer
from support.servers.protocols import ACCEPT, HELLO, mcp_request
from support.servers.web_app import WebApp, open_app, without_page

COMMAND = ["-c", "from hopgraph.tools.apps.cli import main; raise SystemExit(main())", "mcp"]


@asynccontextmanager
async def connected(kind: str, mode: str, place: Path) -> AsyncGenerator[Client]:
    if kind == "stdio":
        started = StdioServerParameters(command=sys.executable, args=COMMAND, env=dict(os.environ))
        async with Client(stdio_client(started), mode=mode) as client:
            yield client
        return
    async with (
        open_app(without_page(place)) as app,
        Client(f"{app.url}/mcp", mode=mode) as client,
    ):
        yield client


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("http", "auto"),
        ("http", "legacy"),
        pytest.param("stdio", "auto", marks=pytest.mark.slow),
        pytest.param("stdio", "legacy", marks=pytest.mark.long),
    ],
)
async def test_the_answer_and_its_citations_are_those_of_ask(kind: str, mode: str, tmp_path: Path) -> None:
    expected = asked()
    told: list[tuple[float, str]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        assert total is None, "nobody knows how many steps there will be"
        told.append((progress, message or ""))

    async with connected(kind, mode, tmp_path) as client:
        for tool in ("cascade", "auto"):
            told.clear()
            result = await client.call_tool(tool, {"question": QUESTION}, progress_callback=tell)
            assert not result.is_error
            found = result.structured_content
            for key in ("answer", "explanation", "citations", "stop_reason"):
                assert found[key] == expected[key]
            assert found["method"] == "cascade"
            assert text_of(result).startswith("Guadalajara [1][2]\n\n[1] Pan's Labyrinth: “")
            assert [number for number, _ in told] == list(range(1, len(told) + 1))
            said = "\n".join(message for _, message in told)
            assert said.index("search In which city") < said.index("conclude answer") < said.index("stage 1, one_step")
        alone = await client.call_tool("cascade", {"question": QUESTION})
        assert alone.structured_content["usage"] == expected["usage"]


async def test_there_is_one_tool_per_method(app: WebApp) -> None:
    async with Client(f"{app.url}/mcp") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == {"auto", *METHODS} - {*ALIASES, "gold_passages", "skr_knn"}
    for name, tool in tools.items():
        assert tool.input_schema["properties"].keys() == {"question"}
        assert tool.input_schema["additionalProperties"] is False
        assert tool.description
        assert "\n" not in tool.description
        title = name if name == "auto" else str(METHODS[name].docstring).partition(":")[0]
        assert str(tool.title).startswith(title)
        assert name == "auto" or title in tool.description


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("migres", {}, "'question' is missing"),
        ("migres", {"question": 7}, "not a string"),
        ("migres", {"question": " \n"}, "the question is empty"),
        ("auto", {"question": ""}, "the question is empty"),
        ("auto", {"question": "x" * 10_001}, "10,000"),
        ("auto", {"question": "x", "model": "openai:gpt-4.1"}, "'model' is unknown"),
        ("gold_passages", {"question": "x"}, "'gold_passages' is unknown"),
        ("../migres", {"question": "x"}, "is unknown"),
    ],
)
async def test_invalid_calls_give_a_tool_error_in_one_line(
    app: WebApp, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with Client(f"{app.url}/mcp") as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert said in text_of(result)
    assert "\n" not in text_of(result)


async def test_small_talk_gets_a_reply_but_no_answer(app: WebApp) -> None:
    async with Client(f"{app.url}/mcp") as client:
        result = await client.call_tool("auto", {"question": "hello"})
    assert text_of(result).startswith("Hello!")
    assert result.structured_content["answer"] == ""
    assert result.structured_content["method"] == ""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_cancelled_call_cancels_its_run(mode: str, tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        server.hold(after=1)
        async with (
            open_app(by_model(server, tmp_path)) as app,
            Client(f"{app.url}/mcp", mode=mode) as client,
        ):
            begun = asyncio.Event()

            async def tell(progress: float, total: float | None, message: str | None) -> None:
                begun.set()

            call = asyncio.create_task(client.call_tool("migres", {"question": QUESTION}, progress_callback=tell))
            await begun.wait()
            assert app.service.admission.active == 1
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await until_idle(app.service)
            await asyncio.sleep(0.4)  # a request in flight may still arrive
            before = len(server.requests)
            await asyncio.sleep(0.4)
            whole = asked(method="migres")["usage"]["llm_calls"]
            assert len(server.requests) == before < whole, "the model is asked no more"


async def test_a_call_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel(), latency=3) as server:
        options = by_model(server, tmp_path, turn_seconds=0.3)
        async with open_app(options) as app, Client(f"{app.url}/mcp") as client:
            result = await client.call_tool("migres", {"question": QUESTION})
            await until_idle(app.service)
    assert result.is_error
    assert "longer than 0.3 seconds" in text_of(result)


async def test_a_session_is_available_only_to_its_user(tmp_path: Path) -> None:
    async def post(app: WebApp, user: str, method: str, params: Any, session: str = "") -> httpx.Response:
        headers = {**ACCEPT, "MCP-Protocol-Version": "2025-06-18", "Authorization": f"Bearer key-of-{user}"}
        headers |= {"Mcp-Session-Id": session} if session else {}
        async with httpx.AsyncClient(timeout=60) as client:
            return await client.post(f"{app.url}/mcp", json=mcp_request(method, params), headers=headers)

    async with open_app(without_page(tmp_path, keys=USERS)) as app:
        session = (await post(app, "ann", "initialize", HELLO)).headers["mcp-session-id"]
        assert (await post(app, "ann", "tools/list", {}, session)).status_code == 200
        assert (await post(app, "bob", "tools/list", {}, session)).status_code == 404
        assert (await post(app, "eve", "tools/list", {})).status_code == 401


@pytest.mark.slow
def test_standard_output_has_only_the_protocol_and_the_chosen_tools() -> None:
    only = ["--only", "migres,auto", "--only", "one_step"]
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "one_step", "arguments": {"question": QUESTION}}},
        {"id": 3, "method": "nonsense"},
        {"id": 4, "method": "tools/list"},
        {"id": 5, "method": "tools/call", "params": {"name": "self_ask", "arguments": {"question": QUESTION}}},
    ]
    replies: dict[int, dict[str, Any]] = {}
    with subprocess.Popen([sys.executable, *COMMAND, *only], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(b"{\n")
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()
            while message.get("id", 1) not in replies:
                reply = json.loads(server.stdout.readline())
                assert reply["jsonrpc"] == "2.0"
                replies[reply.get("id") or 0] = reply
        server.stdin.close()
        assert server.stdout.read() == b""
        assert server.wait(60) == 0
    assert replies[1]["result"]["serverInfo"]["name"] == "hopgraph"
    assert replies[2]["result"]["structuredContent"]["method"] == "one_step"
    assert replies[3]["error"]
    assert [each["name"] for each in replies[4]["result"]["tools"]] == ["migres", "auto", "one_step"]
    [refused] = replies[5]["result"]["content"]
    assert refused["text"] == "tool 'self_ask' is unknown; available: migres, auto, one_step"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--corpus", "/no/such/folder"), "/no/such/folder"),
        (("--model", "nonsense"), "nonsense"),
        (("--set", "nonsense=1"), "nonsense"),
        (("--only", "auto,nonsense"), "'nonsense' is unknown; available: auto, "),
    ],
)
def test_a_failed_start_is_reported_before_the_first_message(
    arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # they would end the tests
    assert main(("mcp", *arguments)) in (1, 2)
    written = capsys.readouterr()
    assert written.out == ""
    (told,) = written.err.splitlines()
    assert said in told


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_signal_ends_it_while_it_waits_for_its_client(how: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, *COMMAND], stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense"}\n')
        server.stdin.flush()
        server.stdout.readline()
        assert list(tmp_path.iterdir())
        server.send_signal(how)
        assert server.wait(60) == 128 + how
        assert server.stderr
        assert server.stderr.read().startswith(b"No language model set; ")
    assert not list(tmp_path.iterdir()), "nothing is left behind"
