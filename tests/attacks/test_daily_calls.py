"""A key's user makes so many model calls a day, by whichever endpoint; another user is not held up."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from hopgraph.tools.apps.server.guards import DailyCalls
from hopgraph.tools.apps.server.refusal import QuotaError
from hopgraph.tools.apps.server.server_options import ServingOptions
from support.servers.trap import ANN, BEN
from support.servers.web_app import open_app

HEADERS = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {ANN}"}
MESSAGE = {"id": "1", "role": "user", "content": "In which city was the director of the film Pan's Labyrinth born?"}


async def ask(client: httpx.AsyncClient, way: str, headers: dict[str, str]) -> httpx.Response:
    if way == "v1":
        body: dict[str, Any] = {"model": "migres", "messages": [MESSAGE]}
        return await client.post("/v1/chat/completions", json=body, headers=headers)
    if way == "ag-ui":
        body = {"threadId": "t", "runId": "r", "state": {}, "messages": [MESSAGE], "tools": [], "context": []}
        body["forwardedProps"] = {"hopgraph": {"method": "migres"}}
        return await client.post("/ag-ui", json=body, headers=headers)
    given = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": given}
    session = {"Mcp-Session-Id": (await client.post("/mcp", json=begin, headers=headers)).headers["mcp-session-id"]}
    params = {"name": "migres", "arguments": {"question": MESSAGE["content"]}}
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    return await client.post("/mcp", json=body, headers={**headers, **session})


@pytest.mark.parametrize("way", ["v1", "ag-ui", "mcp"])
async def test_no_key_makes_calls_without_end(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question that reaches the limit gets its best answer; the next one is refused."""
    monkeypatch.setenv("HOPGRAPH_CALLS_PER_DAY", "2")
    options = ServingOptions(threads=tmp_path / "t.sqlite", page=False, keys={ANN: "ann", BEN: "ben"})
    async with open_app(options) as app, httpx.AsyncClient(base_url=app.url, timeout=60) as client:
        first = await ask(client, way, HEADERS)
        assert first.status_code == 200
        assert "you have made" not in first.text
        refused = await ask(client, way, HEADERS)
        assert "you have made 2 model calls today, which is all" in refused.text
        if way != "mcp":
            assert refused.status_code == 429
            assert "retry-after" not in refused.headers
        if way == "v1":
            assert refused.json()["error"]["code"] == "insufficient_quota"
            assert refused.headers["x-should-retry"] == "false"
        other = await ask(client, way, {**HEADERS, "Authorization": f"Bearer {BEN}"})
        assert (other.status_code, "you have made" in other.text) == (200, False)


def test_the_next_day_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 10.0 * 24 * 3600
    monkeypatch.setattr(time, "time", lambda: now)
    monkeypatch.setenv("HOPGRAPH_CALLS_PER_DAY", "2")
    calls = DailyCalls()
    assert calls.left("ann") == 2
    for _ in range(3):  # the last of a turn that was under way
        calls.count("ann")
    with pytest.raises(QuotaError, match="2 model calls today"):
        calls.left("ann")
    assert calls.left("ben") == 2
    now += 24 * 3600
    assert calls.left("ann") == 2
