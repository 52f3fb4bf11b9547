"""Clients that hold connections, by slow bodies or many streams, and the proxies in front of them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server import refusal
from hopgraph.tools.apps.server.server_options import ServingOptions, proxies_from_environment
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.by_hand import by_hand
from support.servers.openai_server import OpenAIServer
from support.servers.trap import ANN, BEN
from support.servers.web_app import WebApp, open_app, without_page
from support.waiting import until

ASK = {"model": "one_step", "messages": [{"role": "user", "content": "Who painted Guernica?"}]}
ENDPOINTS = ["/v1/chat/completions", "/ag-ui", "/mcp"]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_app(without_page(tmp_path)) as opened:
        yield opened


async def connected(app: WebApp) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(app.url.rpartition(":")[2]))


def head(path: str, length: int) -> bytes:
    kind = "Content-Type: application/json\r\nAccept: application/json, text/event-stream"
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize("path", ENDPOINTS)
async def test_a_body_that_does_not_come_is_not_waited_for(
    app: WebApp, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusal, "_BODY_SECONDS", 0.1)
    reader, writer = await connected(app)
    writer.write(head(path, 1000) + b'{"model": ')
    reply = await reader.read()  # until it is closed
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b"the request's body came too slowly" in reply
    assert b"jsonrpc" in reply if path == "/mcp" else b"request_timeout" in reply
    writer.close()


@pytest.mark.parametrize("path", ENDPOINTS)
async def test_a_client_that_leaves_while_it_sends_is_one_line(
    app: WebApp, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    _, writer = await connected(app)
    writer.write(head(path, 1000) + b'{"model": ')
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.transport.abort()
    await until(lambda: f"POST {path} 499" in caplog.text)
    lines = [each.getMessage() for each in caplog.records if each.name.startswith(("hopgraph", "uvicorn", "mcp"))]
    assert len(lines) == 1
    assert not [each for each in caplog.records if each.exc_info]


async def test_an_address_has_so_many_streams_and_another_is_let_in(tmp_path: Path) -> None:
    key = {"Authorization": "Bearer key-of-ann-0123456789"}
    with OpenAIServer(RuleBasedModel(), latency=30) as model:
        given = {"model": f"openai:any?base_url={model.base_url}"}
        fields = {"settings": given, "keys": {"key-of-ann-0123456789": "ann"}, "streams_per_address": 3}
        async with (
            open_app(without_page(tmp_path, proxies=("127.0.0.1",), **fields)) as app,
            httpx.AsyncClient(base_url=app.url, headers=key, timeout=60) as client,
        ):

            def ask(address: str) -> Any:
                headers = {"X-Forwarded-For": f"198.51.100.9, {address}"}
                return client.post("/v1/chat/completions", json={**ASK, "stream": True}, headers=headers)

            held = [asyncio.create_task(ask("192.0.2.1")) for _ in range(3)]
            await until(lambda: app.service.admission.active == 3)
            refused = await ask("192.0.2.1")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert "you have 3 requests open at 192.0.2.1" in refused.json()["error"]["message"]
            other = asyncio.create_task(ask("192.0.2.2"))
            await until(lambda: app.service.admission.active == 4)
            assert (await client.get("/health")).json()["turns"] == 4
            for each in (*held, other):
                each.cancel()
            await until(lambda: app.service.admission.active == 0)
            again = asyncio.create_task(ask("192.0.2.1"))
            await until(lambda: app.service.admission.active == 1)
            again.cancel()


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
async def test_without_a_key_what_a_proxy_passes_on_is_refused(app: WebApp, header: str) -> None:
    """The proxy is this machine, but the caller is not."""
    async with httpx.AsyncClient(base_url=app.url) as client:
        for value in ("192.0.2.1", "127.0.0.1, 192.0.2.1", "for=192.0.2.1", "x"):
            assert (await client.get("/v1/models", headers={header: value})).status_code == 403
        assert (await client.get("/v1/models", headers={"X-Forwarded-For": "127.0.0.1"})).status_code == 200


async def test_who_is_no_named_proxy_speaks_for_itself(tmp_path: Path) -> None:
    """Whoever names another address for each request stays one caller, as where keys are guessed."""
    keys = {"key-of-ann-0123456789": "ann"}
    async with (
        open_app(without_page(tmp_path, keys=keys, requests_per_minute=12)) as app,
        httpx.AsyncClient(base_url=app.url) as client,
    ):
        replies = [await client.get("/v1/models", headers={"X-Forwarded-For": f"192.0.2.{n}"}) for n in range(5)]
        assert [each.status_code for each in replies] == [401, 401, 401, 429, 429]


def test_proxies_are_addresses_and_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_PROXIES", "127.0.0.1, 10.0.0.0/8,::1")
    assert proxies_from_environment() == ("127.0.0.1", "10.0.0.0/8", "::1")
    for wrong in ("proxy.example", "*", "10.0.0.1/8", "10.0.0.1:80"):
        monkeypatch.setenv("HOPGRAPH_PROXIES", wrong)
        with pytest.raises(SettingsError, match="is neither an address nor a network"):
            proxies_from_environment()


@pytest.mark.parametrize("whose", ["strangers", "ann"])
async def test_who_holds_connections_locks_out_no_user_at_the_same_address(
    tmp_path: Path, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither at the endpoints nor on the page, where the heartbeat of each open tab is a request that does not end."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    options = ServingOptions(threads=tmp_path / "t.sqlite", keys={ANN: "ann", BEN: "ben"}, streams_per_address=12)
    async with open_app(options) as app, by_hand(app.url, BEN) as ben, by_hand(app.url, ANN) as ann:
        cookies = ann.client.cookies if whose == "ann" else {}
        async with httpx.AsyncClient(base_url=app.url, cookies=cookies, timeout=60) as hostile:

            async def heartbeat(number: int) -> int:
                async with hostile.stream("GET", f"/chat/gradio_api/heartbeat/{number}") as reply:
                    if reply.status_code == 200:
                        await asyncio.sleep(30)
                    return reply.status_code

            held = [asyncio.create_task(heartbeat(number)) for number in range(20)]
            most, status = (12, 429) if whose == "ann" else (0, 401)
            await until(lambda: sum(each.done() for each in held) == 20 - most)
            assert status in {each.result() for each in held if each.done()} <= {status, 429}
            assert (await ben.client.post("/chat/gradio_api/reset", json={"event_id": "x"})).status_code == 200
            key = {"Authorization": f"Bearer {BEN}"}
            assert (await ben.client.get("/v1/models", headers=key)).status_code == 200
            others = await (hostile if whose == "ann" else ann.client).get("/chat/gradio_api/startup-events")
            assert others.status_code == (429 if whose == "ann" else 200)
            for each in held:
                each.cancel()
