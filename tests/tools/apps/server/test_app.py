"""`hopgraph chat` in a separate process, and the same app inside a LangGraph server."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import open_service
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.endpoints import QUESTION, asked
from support.servers.langgraph_server import ROOT, langgraph_server
from support.servers.openai_server import OpenAIServer
from support.servers.web_app import chat_process

pytestmark = pytest.mark.slow

HEALTHY = {"status": "ok", "turns": 0, "models": "ok", "index": "ok"}
ASK: Any = {"model": "migres", "messages": [{"role": "user", "content": QUESTION}]}


def test_chat_serves_its_page_and_its_endpoints_and_stops(tmp_path: Path) -> None:
    with (
        chat_process(tmp_path, "--set", "max_parallel_calls=4", "--method", "tor") as chat,
        httpx.Client(timeout=200) as client,
    ):
        assert client.get(f"{chat.url}/health").json() == HEALTHY
        start = client.get(chat.url, follow_redirects=True)
        assert start.status_code == 200
        assert start.url.path.startswith("/chat")
        assert "gradio" in start.text
        found = client.post(f"{chat.url}/v1/chat/completions", json=ASK).json()["hopgraph"]
        assert found["citations"] == asked()["citations"]
        by_itself = client.post(f"{chat.url}/v1/chat/completions", json={**ASK, "model": "auto"}).json()["hopgraph"]
        assert (found["method"], by_itself["method"]) == ("migres", "tree_of_reviews")
        assert chat.stop() == 0
        said = chat.said()
    assert "Traceback" not in said
    assert (found := re.search(r"^POST /v1/chat/completions 200 \d+ ms local (\w+)$", said, re.MULTILINE))
    assert re.search(
        rf"^question id={found[1]} user=local method=migres outcome=answered calls=[1-9]", said, re.MULTILINE
    )
    assert "No language model set; " in said
    assert "without a key" in said
    assert "Guadalajara" not in said


@pytest.mark.long
def test_running_answers_get_a_few_seconds_at_shutdown(tmp_path: Path) -> None:
    """An answer that takes a little longer is completed; one that takes far longer is aborted without a traceback."""
    with OpenAIServer(RuleBasedModel(), latency=0.5) as server:
        model = f"openai:any?base_url={server.base_url}"
        with chat_process(tmp_path, "--model", model) as chat:
            body = {"model": "direct", "messages": [{"role": "user", "content": "Who painted Guernica?"}]}
            with httpx.Client(timeout=200) as client:
                lines: list[str] = []
                with client.stream("POST", f"{chat.url}/v1/chat/completions", json={**body, "stream": True}) as reply:
                    for line in reply.iter_lines():
                        if not lines:
                            chat.process.send_signal(signal.SIGTERM)
                        lines.append(line)
            assert chat.process.wait(100) == 0
            said = chat.said()
    assert "No language model set" not in said
    assert "data: [DONE]" in lines
    assert any('"finish_reason": "stop"' in line for line in lines)
    assert "Traceback" not in said
    assert "ERROR" not in said


@pytest.mark.long
def test_answers_that_take_too_long_are_cut_off_at_shutdown(tmp_path: Path) -> None:
    with ExitStack() as opened:
        server = opened.enter_context(OpenAIServer(RuleBasedModel(), latency=120))
        chat = opened.enter_context(chat_process(tmp_path, "--model", f"openai:any?base_url={server.base_url}"))

        async def ask() -> str:
            async with httpx.AsyncClient(timeout=200) as client:
                going = [
                    asyncio.create_task(client.post(f"{chat.url}/v1/chat/completions", json={**ASK, "stream": stream}))
                    for stream in (False, True)
                ]
                async with asyncio.timeout(100):
                    while len(server.requests) < 2:  # noqa: ASYNC110 - it tells nobody
                        await asyncio.sleep(0.05)
                assert await asyncio.to_thread(chat.stop) == 0
                ended = await asyncio.gather(*going, return_exceptions=True)
                return " ".join(type(each).__name__ for each in ended)

        asyncio.run(ask())
        said = chat.said()
    assert "Traceback" not in said


def test_a_failed_start_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads = ("--threads", str(tmp_path / "t.sqlite"))
    blocked = tmp_path / "file"
    blocked.write_text("")
    for options, said in (
        (("--host", "0.0.0.0", *threads), "callers must send a key; set HOPGRAPH_API_KEY"),  # noqa: S104
        (("--method", "nothing", *threads), "method 'nothing' is unknown"),
        (("--method", "tor", "--set", "use_method=migres", *threads), "'use_method' is set by both --method and --set"),
        (("--threads=~nobody-of-this-name/t.sqlite",), "this user's home folder is not known"),
        (("--corpus", str(tmp_path / "none"), *threads), "none"),
        ((str(tmp_path / "nowhere"), *threads), "nowhere"),
        (("--set", "history_turns=x", *threads), "history_turns"),
        (("--threads", str(blocked / "t.sqlite")), "cannot be opened"),
        (("--host", "192.0.2.1", *threads), "callers must send a key"),
    ):
        assert main(("chat", "--no-browser", "--port", "0", *options)) in (1, 2)
        written = capsys.readouterr().err
        assert said in written
        assert written.count("\n") == 1, written


@pytest.mark.long
def test_another_address_can_be_served_with_a_key(tmp_path: Path) -> None:
    key = "key-of-ann-0123456789"
    with chat_process(tmp_path, "--host", "0.0.0.0", environment={"HOPGRAPH_API_KEY": f"ann={key}"}) as chat:  # noqa: S104
        assert httpx.get(f"{chat.url}/v1/models").status_code == 401
        assert httpx.get(f"{chat.url}/v1/models", headers={"Authorization": f"Bearer {key}"}).status_code == 200
        page = f"{chat.url}/chat"
        with httpx.Client(timeout=100, follow_redirects=True) as person:
            assert person.get(f"{page}/config").status_code == 401
            assert person.post(f"{page}/login", data={"key": "wrong"}).status_code == 401
            assert person.post(f"{page}/login", data={"key": key}).status_code == 200
            assert person.get(f"{page}/config").status_code == 200
        assert chat.stop() == 0
        assert key not in chat.said()


def with_our_app() -> dict[str, Any]:
    """Return the configuration of a LangGraph server with the chat and the web app."""
    described = json.loads((ROOT / "langgraph.json").read_text())
    described["graphs"] = {"chat": described["graphs"]["chat"]}
    return {**described, "http": {"app": "hopgraph.tools.apps.server.langgraph_app:app"}}


@pytest.mark.long
def test_it_works_inside_a_langgraph_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_THREADS", str(tmp_path / "threads.sqlite"))
    log = tmp_path / "server.log"
    with langgraph_server(log, with_our_app()) as url, httpx.Client(timeout=200) as client:
        assert client.get(f"{url}/ok").json()["ok"] is True
        assert "auto" in [model["id"] for model in client.get(f"{url}/v1/models").json()["data"]]
        found = client.post(f"{url}/v1/chat/completions", json=ASK).json()["hopgraph"]
        assert found["citations"] == asked()["citations"]
        assert "gradio" in client.get(f"{url}/chat", follow_redirects=True).text
        refused_host = client.get(f"{url}/v1/models", headers={"Host": "evil.example"})
        assert refused_host.status_code == 421
        big = {"messages": [{"type": "human", "content": "x" * 3_000_000}]}
        thread = client.post(f"{url}/threads", json={}).json()["thread_id"]
        ran = client.post(f"{url}/threads/{thread}/runs/wait", json={"assistant_id": "chat", "input": big})
        assert ran.status_code == 200  # our guards do not apply to the server's endpoints
    said = log.read_text(errors="replace")
    assert "BlockingError" not in said
    assert "Traceback" not in said


def test_inside_a_langgraph_server_a_key_allows_any_host_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, ours = "key-of-ann-0123456789", "https://shop.example"
    given = {"HOPGRAPH_API_KEY": f"ann={key}", "HOPGRAPH_ORIGINS": f"{ours}, https://other.example"}
    for name, value in {**given, "HOPGRAPH_THREADS": str(tmp_path / "threads.sqlite")}.items():
        monkeypatch.setenv(name, value)
    with langgraph_server(tmp_path / "server.log", with_our_app()) as url, httpx.Client(timeout=200) as client:
        models, headers = f"{url}/v1/models", {"Host": "chat.example", "Authorization": f"Bearer {key}"}
        assert client.get(models, headers={"Host": "chat.example"}).status_code == 401
        assert client.get(models, headers=headers).status_code == 200
        assert client.get(models, headers={**headers, "Origin": ours}).status_code == 200
        assert client.get(models, headers={**headers, "Origin": "https://evil.example"}).status_code == 403


def test_importing_the_server_module_creates_nothing() -> None:
    code = (
        "import sys, hopgraph.tools.apps.server.langgraph_app as http; "
        "assert 'app' not in vars(http) and 'gradio' not in sys.modules; print('nothing made')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=250, check=False)
    assert ended.stdout.strip() == "nothing made", ended.stderr


@pytest.mark.long
def test_a_second_process_on_the_same_threads_does_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two processes could answer in the same thread; once the first has died, the second starts."""
    threads = tmp_path / "threads.sqlite"
    with chat_process(tmp_path) as first:
        assert main(("chat", "--no-browser", "--port", "0", "--threads", str(threads))) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "are in use by another process; stop it, or name another file" in said
        assert first.stop(signal.SIGKILL) == -signal.SIGKILL

    async def open_again() -> None:
        async with open_service(ServingOptions(threads=threads)) as service:
            assert await service.threads.list_for("local") == []

    asyncio.run(open_again())
