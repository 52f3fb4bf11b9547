"""Many concurrent chats: none mixed up or lost, and nothing kept."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from hopgraph.tools.apps.server.server_options import ServingOptions
from support.sample import read_sample_passages
from support.servers.web_app import WebApp, open_app

pytestmark = pytest.mark.slow

CHATS = 200
LIMITS = httpx.Limits(max_connections=CHATS, max_keepalive_connections=CHATS)


async def chat(app: WebApp, client: httpx.AsyncClient, title: str, *, stream: bool = False) -> tuple[int, Any]:
    """Ask about a title; return the status and the passages found."""
    body = {"model": "one_step", "messages": [{"role": "user", "content": f"What is {title}?"}], "stream": stream}
    reply = await client.post(f"{app.base_url}/chat/completions", json=body)
    return reply.status_code, reply


@pytest.mark.long
async def test_each_of_200_chats_gets_its_own_answer_or_429(tmp_path: Path) -> None:
    """Each chat's steps contain its question, and no record is shared."""
    titles = list(dict.fromkeys(passage["title"] for passage in read_sample_passages()))[:CHATS]
    options = ServingOptions(
        threads=tmp_path / "t.sqlite",
        page=False,
        max_running=8,
        max_waiting=100,
        requests_per_minute=10_000,
        streams_per_address=CHATS,
    )
    options = replace(options, streams_per_address=CHATS)
    async with open_app(options) as app, httpx.AsyncClient(timeout=280, limits=LIMITS) as client:
        replies = await asyncio.gather(
            *(chat(app, client, titles[number % len(titles)], stream=number % 2 == 1) for number in range(CHATS))
        )
        assert app.service.admission.active == 0
    counts = Counter(status for status, _ in replies)
    assert counts[200] >= 108
    assert counts[200] + counts[429] == CHATS
    for number, (status, reply) in enumerate(replies):
        if status != 200:
            assert reply.headers["retry-after"] == "1"
            continue
        own = titles[number % len(titles)]
        asked = reply.text if number % 2 else reply.json()["choices"][0]["message"]["reasoning_content"]
        searched = [line for line in asked.replace("\\n", "\n").splitlines() if "**search**" in line]
        assert searched
        assert all(f"What is {plain_of(own)}?" in line.replace("\\\\", "\\") for line in searched)


def plain_of(title: str) -> str:
    from hopgraph.nodes.core.marked_text import escape_markup

    return escape_markup(title)
