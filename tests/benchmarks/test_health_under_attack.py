"""How long `/health` of a real `hopgraph chat` takes while it is attacked: the worst of many probes for each attack."""

import asyncio
import itertools
import json
import random
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from support.mutated_requests import GOOD, request
from support.servers.by_hand import by_hand
from support.servers.loopback import LoopbackServer
from support.servers.web_app import ChatProcess, chat_process

pytestmark = pytest.mark.benchmark

LIMIT = 1.0
"""Seconds, on two cores that have nothing else to do: 32 turns that begin at once take most of it."""
PROBE = """
import http.client, sys, time
while True:
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=120)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()
    print(time.perf_counter() - began, flush=True)
    time.sleep(0.05)
"""
LONG = 200_000
PARTS = [
    "{",
    '{"a":[',
    "```",
    "<think>",
    "\\u00",
    "a",
    "a. ",
    "\n",
    "# ",
    '{"answer": "',
    "the author of A ",
    "[1]",
    "\t ",
]
METHODS = ["migres", "blendfilter", "genground", "ra_isf", "tree_of_reviews", "react", "self_ask", "cot_sc", "auto"]
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
LARGEST: dict[str, dict[str, Any]] = {
    "migres": {"top_k": 1000, "max_queries": 10, "max_iterations": 10},
    "tree_of_reviews": {"widths": [1000, 100], "max_depth": 2},
    "genground": {"top_k": 1000, "batch_size": 100},
    "blendfilter": {"top_k": 1000},
    "cot_sc": {"samples": 100},
}

Attack = Callable[[str], Awaitable[None]]


class HostileModel:
    """Answers each request with 200,000 characters."""

    def __init__(self) -> None:
        self._texts = itertools.cycle([(part * LONG)[:LONG] for part in PARTS])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Request(scope, receive).body()
        message = {"role": "assistant", "content": next(self._texts)}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
        await JSONResponse(reply)(scope, receive, send)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatProcess]:
    """With the embedded model, which has the most to do."""
    with chat_process(tmp_path_factory.mktemp("chat")) as started:
        yield started


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatProcess]:
    with (
        LoopbackServer(HostileModel()) as model,
        chat_process(tmp_path_factory.mktemp("chat"), "--model", f"openai:m?base_url={model.url}/v1") as started,
    ):
        yield started


async def worst(url: str, attack: Attack, name: str) -> float:
    """Return the longest of the probes from before the attack to its end; one that had no answer yet counts, too."""
    port = url.rpartition(":")[2]
    probes = await asyncio.create_subprocess_exec(sys.executable, "-c", PROBE, port, stdout=asyncio.subprocess.PIPE)
    await asyncio.sleep(1)
    try:
        await attack(url)
    finally:
        await asyncio.sleep(0.5)
        probes.send_signal(signal.SIGTERM)
        lines, _ = await probes.communicate()
    times = [float(line) for line in lines.split()]
    assert len(times) > 5, "the probes had no answer"
    print(f"\n{name}: worst {max(times):.3f} s of {len(times)} probes, mean {sum(times) / len(times):.3f} s")  # noqa: T201
    return max(times)


async def ask(client: httpx.AsyncClient, model: str, question: str, settings: dict[str, Any] | None = None) -> int:
    message = {"role": "user", "content": question}
    body = {"model": model, "messages": [message], "stream": True, "hopgraph": settings or {}}
    return (await client.post("/v1/chat/completions", json=body)).status_code


def caller(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, timeout=570, limits=httpx.Limits(max_connections=220))


async def replies(url: str) -> None:
    async with caller(url) as client:
        assert {await each for each in asyncio.as_completed([ask(client, name, QUESTION) for name in METHODS * 2])} == {
            200
        }


async def largest_settings(url: str) -> None:
    async with caller(url) as client:
        statuses = await asyncio.gather(*(ask(client, name, QUESTION, given) for name, given in LARGEST.items()))
    assert set(statuses) == {200}


async def long_questions(url: str) -> None:
    async with caller(url) as client:
        await asyncio.gather(*(ask(client, "auto", (part * 10_000)[:10_000]) for part in PARTS))


async def headings(url: str) -> None:
    lines = ["# " + " #" * 500_000 + "x", "#" * 1_000_000, "# " + "\t" * 1_000_000 + "x"]
    async with by_hand(url) as person:
        content = "".join(f"{line}\n\nRain falls on the western coast.\n\n" for line in lines)
        place = await person.uploaded("a.md", content)
        assert "indexed" in await person.call("_add", [None, json.dumps([place]), None, "mine", "english"])


async def slow_loris(url: str) -> None:
    async def hold() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        with suppress(OSError):
            for letter in b"POST /v1/chat/completions HTTP/1.1\r\nHost: localh":
                writer.write(bytes([letter]))
                await writer.drain()
                await asyncio.sleep(0.4)
        writer.close()

    await asyncio.gather(*(hold() for _ in range(30)))


async def streams_left(url: str) -> None:
    async def open_and_leave(client: httpx.AsyncClient) -> None:
        with suppress(httpx.HTTPError):
            message = {"role": "user", "content": QUESTION}
            body = {"model": "migres", "messages": [message], "stream": True}
            async with client.stream("POST", "/v1/chat/completions", json=body) as reply:
                async for _ in reply.aiter_lines():
                    await asyncio.sleep(2)
                    return

    async with caller(url) as client:
        await asyncio.gather(*(open_and_leave(client) for _ in range(200)))


async def mutated(url: str) -> None:
    chance = random.Random(1)
    waiting = asyncio.Semaphore(16)

    async def send(client: httpx.AsyncClient, path: str) -> None:
        method, place, given = request(chance, path)
        async with waiting:
            await client.request(method, place, **given)

    async with caller(url) as client:
        await asyncio.gather(*(send(client, path) for path in list(GOOD) * 180))


async def nothing(url: str) -> None:
    await asyncio.sleep(3)


ATTACKS: list[Attack] = [nothing, headings, slow_loris, streams_left, long_questions, largest_settings, mutated]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.__name__)
async def test_health_is_answered_during(chat: ChatProcess, attack: Attack) -> None:
    assert await worst(chat.url, attack, attack.__name__) < LIMIT


async def test_health_is_answered_during_hostile_replies(hostile: ChatProcess) -> None:
    assert await worst(hostile.url, replies, "replies") < LIMIT
