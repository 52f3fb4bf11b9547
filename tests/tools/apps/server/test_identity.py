"""Users identified by the operator's function, the same on the page and at every endpoint."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.requests import HTTPConnection

from hopgraph.tools.apps.server.identity import to_user_id
from hopgraph.tools.apps.server.page.login import COOKIE, Logins
from hopgraph.tools.apps.server.server_options import ServingOptions
from support.servers.by_hand import by_hand
from support.servers.protocols import ask
from support.servers.web_app import WebApp, open_app

KEY = "key-of-ann-0123456789"
QUESTION = "Who painted Guernica?"


async def user_of(connection: HTTPConnection) -> str | None:
    """Identify users by a header."""
    return connection.headers.get("x-test-user")


@pytest.fixture
async def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WebApp]:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    options = ServingOptions(threads=tmp_path / "t.sqlite", user_of=user_of, keys={KEY: "ann"})
    async with open_app(options) as opened:
        yield opened


@pytest.mark.slow
async def test_every_endpoint_identifies_the_same_user(app: WebApp, caplog: pytest.LogCaptureFixture) -> None:
    """By the function or by a key; unknown users are refused."""
    caplog.set_level("INFO", "hopgraph.questions")
    ben = {"X-Test-User": "ben"}
    async with httpx.AsyncClient(base_url=app.url, headers=ben, timeout=60) as client:
        assert (await ask(client, "v1", QUESTION)).status_code == 200
        assert "RUN_FINISHED" in (await ask(client, "ag-ui", QUESTION)).text
        assert (await client.get("/metrics")).status_code == 200
    async with (
        httpx2.AsyncClient(headers=ben, timeout=60) as http,
        Client(streamable_http_client(f"{app.url}/mcp", http_client=http)) as tools,
    ):
        assert not (await tools.call_tool("one_step", {"question": QUESTION})).is_error
    said = [each.getMessage() for each in caplog.records if each.name == "hopgraph.questions"]
    assert [line.split(" user=")[1].split()[0] for line in said] == ["ben"] * 3
    assert [each["title"] for each in await app.service.threads.list_for("ben")] == [QUESTION]
    assert await app.service.threads.list_for("ann") == []
    async with httpx.AsyncClient(base_url=app.url, timeout=60) as stranger:
        for method, path in (("POST", "/v1/chat/completions"), ("POST", "/ag-ui"), ("POST", "/mcp")):
            assert (await stranger.request(method, path, json={})).status_code == 401
        for path in ("/metrics", "/chat/config", "/chat/gradio_api/startup-events"):
            assert (await stranger.get(path)).status_code == 401


async def test_the_page_belongs_to_the_identified_user(app: WebApp) -> None:
    """With separate uploads, and without a login."""
    async with by_hand(app.url, headers={"X-Test-User": "ben"}) as ben, by_hand(app.url, KEY) as ann:
        name = await ben.uploaded("secret.txt", "Rain falls on the coast.")
        assert (await ben.client.get(f"/chat/gradio_api/file={name}")).text == "Rain falls on the coast."
        assert (await ann.client.get(f"/chat/gradio_api/file={name}")).status_code == 404
        assert "<span>ben</span>" in json.dumps(await ben.call("account", []))
        assert "Log out" not in await ben.call("account", [])
        assert "Log out" in await ann.call("account", [])


async def test_the_page_accepts_a_key_as_a_header(app: WebApp) -> None:
    """As sent by an app in front of the page."""
    async with by_hand(app.url, headers={"Authorization": f"Bearer {KEY}"}) as ann:
        assert "<span>ann</span>" in await ann.call("account", [])


async def test_logging_out_ends_the_session(app: WebApp) -> None:
    async with by_hand(app.url, KEY) as ann:
        cookies = dict(ann.client.cookies)
        assert (await ann.client.get("/chat/config")).status_code == 200
        left = await ann.client.post("/chat/logout")
        assert (left.status_code, left.headers["location"]) == (303, "login")
        ann.client.cookies.update(cookies)  # as a client that kept them
        assert (await ann.client.get("/chat/config")).status_code == 401
        shown = await ann.client.get("/chat/?thread=1")
        assert (shown.status_code, shown.headers["location"]) == (303, "login?thread=1")
        again = await ann.client.post("/chat/login?thread=1", data={"key": KEY})
        assert again.headers["location"] == "./?thread=1"


async def test_another_sites_form_logs_nobody_in_or_out(app: WebApp) -> None:
    async with by_hand(app.url, KEY) as ann:
        for path in ("login", "logout"):
            evil = {"Origin": "https://evil.example"}
            assert (await ann.client.post(f"/chat/{path}", data={"key": KEY}, headers=evil)).status_code == 403
        assert (await ann.client.get("/chat/config")).status_code == 200


def test_sessions_per_user_are_bounded() -> None:
    logins = Logins()
    bens = logins.begin("ben")
    tokens = [logins.begin("ann") for _ in range(25)]
    assert [logins.user_of({COOKIE: each}) for each in tokens] == [None] * 5 + ["ann"] * 20
    assert logins.user_of({COOKIE: bens}) == "ben"
    assert logins.user_of({}) is logins.user_of({COOKIE: "x"}) is None


def test_user_ids_are_distinct_and_safe() -> None:
    """Names that are not valid ids become unique ids."""
    names = ["ann@example.org", "auth0|5f7c", "auth0|5F7C", "ann:thread", "..", "", "a" * 300, "Ünal", "\udcff"]
    ids = [to_user_id(name) for name in names]
    assert ids[0] == names[0]
    assert len(set(ids)) == len(names)
    assert all(each.startswith("id-") and len(each) == 35 for each in ids[1:])
    assert to_user_id(ids[1]) != ids[1], "nobody takes another's by its id as a name"
