"""Many questions at a time over HTTP: the call rate beside the bare client's, and the memory that questions take.

The server runs in a process of its own and answers from replies that a first pass made it compute. The bare client
sends the very same requests again, as many at once as questions were under way. Rates are taken between the first
tenth and four fifths of the answers, where the client has its full number of requests to make.
"""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.io.background import run_in_background

pytestmark = pytest.mark.benchmark

LATENCY = 0.3
SHARE = 0.85
"""Of the bare client's call rate: the limit that is tested."""
GROWTH = 24 * 1024
"""Kilobytes that 300 questions more may take: less than 0.1 MB each, where a question's trace and prompts are more."""


class MemoServer:
    """The server's process."""

    def __init__(self, dataset: Path) -> None:
        script = Path(__file__).with_name("memo_server.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(dataset)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def begin(self, latency: float) -> None:
        httpx.post(f"{self.url}/begin", json={"latency": latency}).raise_for_status()

    def seen(self) -> dict[str, Any]:
        return httpx.get(f"{self.url}/seen", timeout=60).json()

    def close(self) -> None:
        self.process.communicate(timeout=30)


@pytest.fixture(scope="module")
def dataset(shared_data: Path) -> Path:
    return shared_data / "musique" / "train_100.jsonl"


@pytest.fixture(scope="module")
def server(dataset: Path) -> Iterator[MemoServer]:
    running = MemoServer(dataset)
    yield running
    running.close()


def evaluated(server: MemoServer, dataset: Path, out: Path, method: str, **options: Any) -> None:
    run_eval(
        EvalOptions(
            dataset,
            method,
            out,
            model=f"openai:memo?base_url={server.url}/v1",
            assignments=["max_parallel_calls=64"],
            **options,
        )
    )


def rate(times: list[tuple[float, float]]) -> float:
    """Answers per second in the middle of a run."""
    answered = sorted(end for _, end in times)
    first, last = len(answered) // 10, len(answered) * 4 // 5
    return (last - first) / (answered[last] - answered[first])


async def replayed(server: MemoServer, bodies: list[dict[str, Any]], parallel: int) -> None:
    """Send the same requests with the bare client."""
    model = ChatOpenAI(
        model="memo", base_url=f"{server.url}/v1", api_key=SecretStr("none"), temperature=0, max_retries=0
    )
    waiting = iter(bodies)

    async def work() -> None:
        for body in waiting:
            messages = [(each["role"], each["content"]) for each in body["messages"]]
            await model.bind(response_format=body["response_format"]).ainvoke(messages)

    async with asyncio.TaskGroup() as group:
        for _ in range(parallel):
            group.create_task(work())


@pytest.mark.parametrize("method", ["ircot", "migres"])
@pytest.mark.parametrize("parallel", [16, 32, 64])
def test_call_rate_beside_the_bare_client(
    server: MemoServer, dataset: Path, tmp_path: Path, method: str, parallel: int
) -> None:
    repeats = max(1, parallel // 16)
    server.begin(0.0)
    evaluated(server, dataset, tmp_path / "fill", method, concurrency=parallel)
    server.begin(LATENCY)
    began = processor_seconds()
    evaluated(server, dataset, tmp_path / "run", method, concurrency=parallel, repeats=repeats, processes=None)
    spent = processor_seconds() - began
    ours = server.seen()
    server.begin(LATENCY)
    began = processor_seconds()
    run_in_background(replayed(server, ours["bodies"], parallel))
    bare_spent = processor_seconds() - began
    bare = server.seen()
    assert len(bare["times"]) == len(ours["times"])
    share, calls = rate(ours["times"]) / rate(bare["times"]), len(ours["times"])
    sys.stdout.write(
        f"\n{method}, {parallel} at a time, {calls} calls: {rate(ours['times']):.1f} calls/s, bare client "
        f"{rate(bare['times']):.1f} ({100 * share:.0f} %); processor {1000 * spent / calls:.2f} and "
        f"{1000 * bare_spent / calls:.2f} ms per call\n"
    )
    assert share >= SHARE


def test_two_processes_answer_more_than_one(server: MemoServer, dataset: Path, tmp_path: Path) -> None:
    """Without latency the processor is the limit; the server and the driver need some of the two cores, too."""
    rates: list[float] = []
    for name, fields in (("fill", {}), ("one", {"repeats": 5}), ("two", {"repeats": 5, "processes": 2})):
        server.begin(0.0)
        evaluated(server, dataset, tmp_path / name, "self_ask", concurrency=64, **fields)
        rates.append(rate(server.seen()["times"]))
    sys.stdout.write(f"\none process {rates[1]:.0f} calls/s, two {rates[2]:.0f} ({rates[2] / rates[1]:.2f})\n")
    assert rates[2] >= 1.7 * rates[1]


def test_memory_does_not_grow_with_the_questions(server: MemoServer, dataset: Path, tmp_path: Path) -> None:
    server.begin(0.0)
    evaluated(server, dataset, tmp_path / "warm", "ircot", limit=20)
    sizes: dict[int, int] = {}
    results = tmp_path / "run" / "results" / "ircot.jsonl"
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            finished = results.read_bytes().count(b"\n") if results.exists() else 0
            for mark in (100, 400):
                if finished >= mark and mark not in sizes:
                    sizes[mark] = resident()

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        evaluated(server, dataset, tmp_path / "run", "ircot", concurrency=16, repeats=5)
    finally:
        ended.set()
        watching.join()
    sys.stdout.write(f"\nresident after 100 and 400 questions: {sizes[100]:,} and {sizes[400]:,} kB\n")
    assert sizes[400] - sizes[100] <= GROWTH


def processor_seconds() -> float:
    """Seconds that this process and those it started, and which have ended, kept a core busy."""
    return sum(os.times()[:4])


def resident() -> int:
    """Kilobytes of this process in memory."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
