"""What a caller sends wrong is one bounded line of the log, without what was sent, and no traceback."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from attacks.conftest import person

from hopgraph.tools.apps.server.server_options import ServingOptions
from support.servers.by_hand import Person, by_hand
from support.servers.trap import ANN
from support.servers.web_app import open_app

MARK = "xyzzy" * 20_000
VALUES: list[list[Any]] = [
    *([], [MARK] * 3, [None] * 12, [{"a": MARK}] * 6, [[MARK]] * 5, [1e308] * 6, [True] * 6),
    [{"path": MARK}] * 6,
    ["\ud800"] * 6,
]
BODIES = [
    *(b"", b"[]", b"1", b"{" * 100_000, b"\xff", json.dumps({"data": MARK}).encode()),
    json.dumps({"data": [], "event_id": "\ud800", "session_hash": "\ud800", "fn_index": MARK}).encode(),
    json.dumps({"data": [MARK], "fn_index": 9_999_999, "session_hash": "a"}).encode(),
    json.dumps({"data": [MARK], "fn_index": 0, "session_hash": "a", "trigger_id": MARK}).encode(),
]


@pytest.fixture
async def ann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Person]:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    options = ServingOptions(threads=tmp_path / "t.sqlite", keys={ANN: "ann"}, requests_per_minute=100_000)
    async with open_app(options) as app, by_hand(app.url, ANN) as logged_in:
        yield logged_in


def check(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    """Also what is printed, as Gradio does."""
    printed = capfd.readouterr()
    records = [
        each for each in caplog.records if not each.name.startswith(("http", "uvicorn.access"))
    ]  # not of the app
    assert not [each for each in records if each.exc_info]
    lines = [each.getMessage() for each in records] + (printed.out + printed.err).splitlines()
    assert not [line for line in lines if "xyzzyxyzzy" in line or "Traceback" in line]
    assert max(map(len, lines)) < 400


@pytest.mark.slow
async def test_the_pages_events(
    ann: Person, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    for function in ann.functions:
        for values in VALUES:
            session = "s"
            wanted = {"data": values, "fn_index": ann.functions[function], "session_hash": session}
            kind = {"Content-Type": "application/json"}
            join = "/chat/gradio_api/queue/join"
            joined = await ann.client.post(join, content=json.dumps(wanted), headers=kind)
            assert joined.status_code == 200
            async with ann.client.stream(
                "GET", "/chat/gradio_api/queue/data", params={"session_hash": session}
            ) as lines:
                said = "".join([line async for line in lines.aiter_lines()])
            assert "process_completed" in said  # no stream is broken off
            assert len(said) < 300_000
    check(caplog, capfd)


async def test_the_pages_requests(
    ann: Person, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    for path, body in product(("queue/join", "cancel", "reset", "upload"), BODIES):
        kind = {"Content-Type": "application/json"}
        reply = await ann.client.post(f"/chat/gradio_api/{path}", content=body, headers=kind)
        assert reply.status_code < 500
    for given in ("zzz", MARK[:3000]):
        with suppress(httpx.RemoteProtocolError):  # Gradio has begun its reply when it finds no such session
            await ann.client.get("/chat/gradio_api/queue/data", params={"session_hash": given})
    check(caplog, capfd)


@pytest.mark.slow
def test_a_langgraph_servers_own_routes(server_url: str, server_log: Path) -> None:
    """Those that it answers without a key, or with a traceback."""
    before = server_log.stat().st_size
    with httpx.Client(base_url=server_url) as stranger, person(server_url, ANN) as known:
        for path in ("/ui", "/ui/x", "/ui/x/y", "/docs", "/openapi.json", "/info", "/metrics"):
            for method in ("GET", "HEAD", "POST"):
                assert stranger.request(method, path, json={}).status_code in (401, 403), path
                assert known.request(method, path, json={}).status_code < 500, path
        assert stranger.get("/ok").status_code == 200
        for content in (json.dumps({"assistant_id": "chat", "input": {"messages": "\ud800"}}), '{"a":' * 10_000):
            for path in ("/runs/stream", "/threads/x/runs/stream", "/threads", "/assistants/search"):
                kind = {"Content-Type": "application/json"}
                assert known.post(path, content=content, headers=kind).status_code in (404, 422)
    with server_log.open() as log:
        log.seek(before)
        assert "Traceback" not in log.read()
