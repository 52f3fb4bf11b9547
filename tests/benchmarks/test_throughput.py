"""Many questions at a time over HTTP: calls per second, processor and memory, and a user's alternatives'.

The server runs in a process of its own and answers from replies that a first pass made it compute. Rates are taken
between the first tenth and four fifths of the answers, where each system has its full number of requests to make.
HOPGRAPH_DSPY names the Python of an environment with DSPy, as another peer.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.retrieval import build_index

pytestmark = pytest.mark.benchmark

LATENCY = 0.3
PARALLEL, QUESTIONS = 64, 512
MEMORY = 160
"""Megabytes that a process with so many questions at a time may take."""
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
            fresh=True,  # else replies would come from the cache that runs share
            **options,
        )
    )


def rate(times: list[tuple[float, float]]) -> float:
    """Answers per second in the middle of a run."""
    answered = sorted(end for _, end in times)
    first, last = len(answered) // 10, len(answered) * 4 // 5
    return (last - first) / (answered[last] - answered[first])


class Measured(NamedTuple):
    """One system's pass."""

    rate: float
    """Calls per second."""
    processor: float
    """Milliseconds per call."""
    resident: float
    """Megabytes at most."""


def measured(server: MemoServer, dataset: Path, index: Path, system: str, python: str = sys.executable) -> Measured:
    script = Path(__file__).with_name("throughput_client.py")
    server.begin(0.0)
    command = [python, str(script), system, server.url, str(dataset), str(index), str(PARALLEL), str(QUESTIONS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout
        assert client.stdout.readline() == "warm\n"
        server.begin(LATENCY)
        printed, _ = client.communicate("\n")
    said, times = json.loads(printed.splitlines()[-1]), server.seen()["times"]
    result = Measured(rate(times), 1000 * said["processor"] / len(times), said["resident"] / 1024)
    sys.stdout.write(
        f"\n{system:18} {len(times):5} calls {result.rate:6.1f} calls/s {result.processor:5.2f} ms per call "
        f"{result.resident:4.0f} MB"
    )
    return result


@pytest.fixture(scope="module")
def index(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_index(dataset, tmp_path_factory.mktemp("throughput") / "index").path


@pytest.fixture(scope="module")
def plain(server: MemoServer, dataset: Path, index: Path) -> Measured:
    """A graph of three nodes, each one call of `ChatOpenAI`; the better of two passes."""
    passes = [measured(server, dataset, index, "langgraph") for _ in range(2)]
    return max(passes)


@pytest.mark.parametrize("method", ["self_ask", "ircot", "migres", "tree_of_reviews"])
def test_calls_beside_plain_langgraph(
    server: MemoServer, dataset: Path, index: Path, plain: Measured, method: str
) -> None:
    ours = measured(server, dataset, index, method)
    share, times = ours.rate / plain.rate, ours.processor / plain.processor
    sys.stdout.write(f": {share:.2f} of plain LangGraph's rate, {times:.2f} times its processor\n")
    assert share >= 0.9
    assert times <= 1.25
    assert method != "self_ask" or ours.resident <= MEMORY


@pytest.mark.parametrize("peer", ["chat_openai", "dspy"])
def test_peers(server: MemoServer, dataset: Path, index: Path, peer: str) -> None:
    python = os.environ.get("HOPGRAPH_DSPY") if peer == "dspy" else sys.executable
    if not python:
        pytest.skip("HOPGRAPH_DSPY names no Python with DSPy")
    assert measured(server, dataset, index, peer, python).rate > 0


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


def resident() -> int:
    """Kilobytes of this process in memory."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
