"""The app mounted in another app that does not run its lifespan, on a running server."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette

from support.servers.browsing import Open, Serve
from support.servers.protocols import chat_request
from support.servers.web_app import open_app, without_page

KEYS = {"key-of-ann-0123456789": "ann"}


@pytest.mark.parametrize("host", [FastAPI, Starlette])
async def test_a_mounted_app_answers_below_its_path(tmp_path: Path, host: Callable[[], Starlette]) -> None:
    async with open_app(without_page(tmp_path), mounted_in=host()) as app, httpx.AsyncClient(timeout=60) as client:
        assert (await client.get(f"{app.url}/health")).json()["status"] == "ok"
        reply = await client.post(f"{app.base_url}/chat/completions", json=chat_request("Who painted Guernica?"))
        assert reply.json()["hopgraph"]["answer"] == "Pablo Picasso"
        assert (await client.get(f"{app.base_url}/nothing")).status_code == 404
        described = (await client.get(f"{app.base_url}/openapi.json")).json()
        assert set(described["paths"]) == {"/v1/models", "/v1/models/{name}", "/v1/chat/completions"}
        refused = await client.post(f"{app.url}/mcp", content="{}")
        assert refused.json()["error"]["message"] == "send Content-Type: application/json"  # in its protocol's format


async def test_a_mounted_app_is_guarded_below_its_path(tmp_path: Path) -> None:
    options = without_page(tmp_path, keys=KEYS)
    async with open_app(options, mounted_in=FastAPI()) as app, httpx.AsyncClient(timeout=60) as client:
        assert (await client.get(f"{app.base_url}/models")).status_code == 401
        assert (await client.get(f"{app.url}/metrics")).status_code == 401
        known = {"Authorization": f"Bearer {next(iter(KEYS))}"}
        assert (await client.get(f"{app.base_url}/models", headers=known)).status_code == 200


async def test_a_failure_to_open_is_reported_and_retried(tmp_path: Path) -> None:
    (tmp_path / "threads.sqlite").mkdir()
    async with open_app(without_page(tmp_path), mounted_in=FastAPI()) as app, httpx.AsyncClient(timeout=60) as client:
        refused = await client.get(f"{app.url}/health")
        assert refused.status_code == 503
        assert "cannot be opened" in refused.json()["detail"]
        assert str(tmp_path) not in refused.text
        (tmp_path / "threads.sqlite").rmdir()
        assert (await client.get(f"{app.url}/health")).status_code == 200


@pytest.mark.slow
def test_the_page_of_a_mounted_app_works_below_its_path(serve: Serve, open_chat: Open) -> None:
    chat = open_chat(serve(mounted_in=FastAPI()), wait=False)
    chat.page.goto(f"{chat.app.url}/")
    chat.ready()
    assert chat.page.url == f"{chat.app.url}/chat/"
    assert "Pablo Picasso" in chat.ask("Who painted Guernica?")
    assert all(url.startswith((f"{chat.app.url}/", "data:", "blob:")) for url in chat.requests)
