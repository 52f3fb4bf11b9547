"""A key's user makes so many model calls a day, by whichever endpoint; another user is not held up."""

import time
from pathlib import Path

import httpx
import pytest

from hopgraph.tools.apps.server.guards import DailyCalls
from hopgraph.tools.apps.server.refusal import QuotaError
from hopgraph.tools.apps.server.server_options import ServingOptions
from support.servers.protocols import ask
from support.servers.trap import ANN, BEN
from support.servers.web_app import WebApp, open_app

QUESTION = "In which city was the director of the film Pan's Labyrinth born?"


async def ask_with(app: WebApp, key: str, way: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=app.url, headers=headers, timeout=60) as client:
        return await ask(client, way, QUESTION, "migres")


@pytest.mark.parametrize("way", ["v1", "ag-ui", "mcp"])
async def test_no_key_makes_calls_without_end(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question that reaches the limit gets its best answer; the next one is refused."""
    monkeypatch.setenv("HOPGRAPH_CALLS_PER_DAY", "2")
    options = ServingOptions(threads=tmp_path / "t.sqlite", page=False, keys={ANN: "ann", BEN: "ben"})
    async with open_app(options) as app:
        first = await ask_with(app, ANN, way)
        assert first.status_code == 200
        assert "you have made" not in first.text
        refused = await ask_with(app, ANN, way)
        assert "you have made 2 model calls today, which is the limit" in refused.text
        if way != "mcp":
            assert refused.status_code == 429
            assert "retry-after" not in refused.headers
        if way == "v1":
            assert refused.json()["error"]["code"] == "insufficient_quota"
            assert refused.headers["x-should-retry"] == "false"
        other = await ask_with(app, BEN, way)
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
