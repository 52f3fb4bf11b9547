"""Fifty users of `hopgraph chat` while another key's user does all that could hold them up: how long answers take."""

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from benchmarks import hostile_caller

from hopgraph.tools.models.offline import RuleBasedModel
from support.paths import ROOT
from support.servers.openai_server import OpenAIServer
from support.servers.web_app import ChatProcess, chat_process

pytestmark = pytest.mark.benchmark

SECONDS = float(os.environ.get("HOPGRAPH_LOAD_SECONDS", "300"))
"""Of each of the two halves: without the hostile user, and with."""
USERS = 50
THINKING = 10.0
"""Seconds, on average, between an answer and the user's next question."""
LATENCY = 0.5
"""Seconds that the model takes for a reply."""
SLOWER, GROWTH = 1.5, 150
"""How many times longer the 95th percentile may be than without the hostile user, and megabytes of memory more."""
KEYS = {f"user{number}": f"key-of-user-{number:04}-0123456789" for number in range(USERS)}
HOSTILE = "key-of-hostile-0123456789"
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"


async def user(url: str, key: str, until: float, times: list[float]) -> None:
    chance = random.Random(key)
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120) as client:
        await asyncio.sleep(chance.uniform(0, THINKING))
        while time.monotonic() < until:
            began = time.monotonic()
            body = {"model": "one_step", "messages": [{"role": "user", "content": QUESTION}]}
            reply = await client.post("/v1/chat/completions", json=body)
            assert reply.status_code == 200, reply.text
            times.append(time.monotonic() - began)
            await asyncio.sleep(chance.uniform(0.5, 1.5) * THINKING)


async def percentile(url: str) -> float:
    times = list[float]()
    until = time.monotonic() + SECONDS
    await asyncio.gather(*(user(url, key, until, times) for key in KEYS.values()))
    times.sort()
    print(f"\n{len(times)} answers: median {times[len(times) // 2]:.3f} s, 95% {times[len(times) * 95 // 100]:.3f} s")  # noqa: T201
    return times[len(times) * 95 // 100]


@asynccontextmanager
async def attacked(url: str, log: Path) -> AsyncGenerator[None]:
    """Let the hostile user do as they like, and check that they did something of each kind."""
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, hostile_caller.__file__, url, HOSTILE),
            stdout=out,
            env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        )
    try:
        yield
        assert process.returncode is None
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()
    last = json.loads(log.read_text().splitlines()[-1])
    print(f"the hostile user: {last}")  # noqa: T201
    kinds = {name.partition(" ")[0] for name in last}
    assert kinds == {"markers", "sessions", "threads", "nonsense", "silence", "documents"}
    assert last.get("documents 200")


def resident(chat: ChatProcess) -> int:
    """Give the megabytes that the process holds."""
    status = Path(f"/proc/{chat.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) // 1024


async def test_a_hostile_key_holds_up_nobody_else(tmp_path: Path) -> None:
    keys = ",".join(f"{name}={key}" for name, key in {**KEYS, "hostile": HOSTILE}.items())
    with (
        OpenAIServer(RuleBasedModel(), latency=LATENCY) as model,
        chat_process(
            tmp_path, "--model", f"openai:m?base_url={model.base_url}", environment={"HOPGRAPH_API_KEY": keys}
        ) as chat,
    ):
        calm, before = await percentile(chat.url), resident(chat)
        async with attacked(chat.url, tmp_path / "hostile.log"):
            under_attack = await percentile(chat.url)
        after = resident(chat)
        size = chat.log.stat().st_size
    print(f"{under_attack / calm:.2f} times as long; memory {before} MB, then {after} MB; log {size:,} bytes")  # noqa: T201
    assert under_attack < SLOWER * calm
    assert after - before <= GROWTH
