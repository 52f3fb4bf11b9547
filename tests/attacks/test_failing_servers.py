"""A model server or an index that fails, at once or in the middle of a run: callers learn neither key nor place."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.turn import hide_places
from support.servers.loopback import LoopbackServer
from support.servers.protocols import ask
from support.servers.trap import SECRETS
from support.servers.web_app import WebApp, open_app

QUESTION = "Who painted Guernica?"
CHOICE = '{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{}"}}'
REPLY = f'{{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{CHOICE}]}}'.encode()
SAYS = b"the file /srv/models/llama.py failed; key sk-of-the-operator, see http://10.1.2.3:8000/v1/status"
FAILURES = {"401": (401, SAYS), "500": (500, SAYS), "garbage": (200, SAYS), "cut": (200, REPLY[:150])}
WAYS = ["v1", "v1 stream", "ag-ui", "mcp"]


class FailingServer:
    """Answers as many requests as it is told, and then fails."""

    status, body = 200, SAYS
    answers = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Request(scope, receive).body()
        self.answers -= 1
        ok = self.answers >= 0
        await Response(REPLY if ok else self.body, 200 if ok else self.status)(scope, receive, send)


@pytest.fixture
async def failing() -> AsyncIterator[tuple[FailingServer, str]]:
    server = FailingServer()
    with LoopbackServer(server) as served:
        yield server, served.url


async def asked(app: WebApp, way: str) -> str:
    async with httpx.AsyncClient(timeout=60, base_url=app.url) as client:
        return (await ask(client, way, QUESTION, "migres")).text


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_callers_learn_neither_key_nor_place(
    failing: tuple[FailingServer, str], way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    server, url = failing
    settings = {"model": f"openai:m?base_url={url}/v1", "request_retries": 1}
    monkeypatch.setattr("hopgraph.tools.models.send._MAX_WAIT_SECONDS", 0.01)
    said: list[str] = []
    options = ServingOptions(settings=settings, threads=tmp_path / "t.sqlite", page=False)
    async with open_app(options) as app:
        for status, body in FAILURES.values():
            for answers in (0, 1):
                server.status, server.body, server.answers = status, body, answers
                said.append(await asked(app, way))
    missing = {"retriever": f"bm25:{tmp_path / 'gone'}"}
    async with open_app(ServingOptions(settings=missing, threads=tmp_path / "u.sqlite", page=False)) as app:
        said.append(await asked(app, way))
    hidden = [*SECRETS.values(), url.removeprefix("http://"), "/srv/", "10.1.2.3", str(tmp_path), "Traceback"]
    assert not [each for each in said if any(place in each for place in hidden)]
    assert all("error" in each.lower() or "detail" in each for each in said)


def test_what_is_no_place_stays() -> None:
    for line in ("50 and/or 60 of 1/2, GET v1/models", "openai:meta-llama/Llama-3: HTTP 401", "</s> 3 // 4", "a: b/c"):
        assert hide_places(line) == line
    assert hide_places("no file C:\\data\\x, '/srv/x y'.") == "no file [path], '[path] y'."
    assert hide_places("at /Users/a/Application Support/x/t.sqlite now") == "at [path] now"
    assert hide_places("see http://h:1/v1: or ~/x; bm25:/a/b") == "see [address]: or [path]; bm25:[path]"
