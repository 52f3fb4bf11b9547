"""A run on a local Ray cluster of two workers: the same as without Ray, even after kills."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import METHODS
from hopgraph.state import CorpusError, RunError, SettingsError, SpecError
from hopgraph.state.errors import HopgraphError
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob
from hopgraph.tools.apps.evaluation.batch.ray_engine import ray_workers
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.models.offline import RuleBasedModel
from support.evaluation_runs import results
from support.paths import ROOT, SAMPLE
from support.servers.openai_server import OpenAIServer
from support.waiting import PATIENCE, wait_until

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None or not Path("/proc/self/stat").exists(), reason="needs Linux and hopgraph[ray]"
)

EXAMPLE = ROOT / "examples" / "checked_answer" / "checked_answer.py"
RUN_METHODS = f"migres,gold_passages,{EXAMPLE}"
QUESTIONS = 6
CONCURRENCY = 4
PER_QUESTION = 5
"""The most calls that one of these methods has under way at once."""
EVAL = """
import sys
from pathlib import Path
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
dataset, out, model, methods = sys.argv[1:]
run_eval(EvalOptions(Path(dataset), methods, Path(out), model=model, limit=6, concurrency=4, engine="ray"))
"""


@pytest.fixture(autouse=True)
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_OVERRIDE_RESOURCES", '{"CPU": 2}')
    monkeypatch.setenv("RAY_worker_niceness", "0")  # otherwise workers starve during other tests


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(RuleBasedModel(), latency=0.1) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run without Ray."""
    out = tmp_path_factory.mktemp("runs") / "local"
    run_eval(options(out, server, engine="local"))
    return out


def options(out: Path, server: OpenAIServer, **fields: Any) -> EvalOptions:
    given: dict[str, Any] = {"limit": QUESTIONS, "concurrency": CONCURRENCY, "engine": "ray", **fields}
    return EvalOptions(SAMPLE, RUN_METHODS, out, model=f"openai:any?base_url={server.base_url}", **given)


@contextmanager
def started(out: Path, server: OpenAIServer, said: Path) -> Generator[subprocess.Popen[bytes]]:
    """Start a run with output to a file: Ray's agents would keep a pipe open for a minute."""
    arguments = [str(SAMPLE), str(out), f"openai:any?base_url={server.base_url}", RUN_METHODS]
    with (
        said.open("wb") as stderr,
        subprocess.Popen([sys.executable, "-c", EVAL, *arguments], stdout=subprocess.DEVNULL, stderr=stderr) as driver,
    ):
        try:
            yield driver
        finally:
            driver.kill()


def scores(out: Path) -> dict[str, Any]:
    summary = json.loads((out / "summary.json").read_text())
    return {method: {**values, "seconds": 0} for method, values in summary.items()}


def paid_twice(server: OpenAIServer, before: int) -> int:
    asked = Counter(json.dumps(request.body, sort_keys=True) for request in server.requests[before:])
    return sum(asked.values()) - len(asked)


def processes() -> dict[int, tuple[int, str]]:
    """Return the parent and command line of each running process."""
    found = dict[int, tuple[int, str]]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":  # a zombie
                found[int(folder.name)] = int(parent), (folder / "cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def descendants(of: int) -> dict[int, str]:
    """Return the command lines of all descendants of a process."""
    living, found, new = processes(), set[int](), {of}
    while new := {pid for pid, (parent, _) in living.items() if parent in new} - found:
        found |= new
    return {pid: living[pid][1] for pid in found}


def workers(of: int) -> list[int]:
    return [pid for pid, line in descendants(of).items() if line.startswith("ray::Worker")]


def job(server: OpenAIServer, method: str = "direct", **fields: Any) -> QuestionJob:
    settings = METHODS[method].Context(**{"model": f"openai:any?base_url={server.base_url}", **fields})
    return QuestionJob(
        EvalQuestion(id="1", question="Who?", answers=("x",), type="", gold=(), gold_titles=()), settings
    )


@needs_ray
def test_two_workers_give_the_same_results_and_summary(
    server: OpenAIServer, undisturbed: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = len(server.requests)
    run_eval(options(tmp_path, server))
    assert results(tmp_path) == results(undisturbed)
    assert scores(tmp_path) == scores(undisturbed)
    assert paid_twice(server, before) == 0
    calls = len(server.requests) - before
    *progress, last = capfd.readouterr().err.strip().splitlines()
    assert all(" of 18 questions finished · " in line for line in progress), "nothing of Ray's own"
    assert last.startswith(f"{calls} model calls")
    run_eval(options(tmp_path, server, engine="local"))
    assert len(server.requests) - before == calls


@needs_ray
def test_other_workers_take_over_the_questions_of_a_killed_worker(
    server: OpenAIServer, undisturbed: Path, tmp_path: Path
) -> None:
    before, out, said = len(server.requests), tmp_path / "run", tmp_path / "said"
    with started(out, server, said) as driver:
        wait_until(lambda: len(server.requests) > before + 20)
        pids = workers(driver.pid)
        assert len(pids) == 2
        os.kill(pids[0], signal.SIGKILL)
        assert driver.wait(PATIENCE) == 0, said.read_text()
    assert results(out) == results(undisturbed)
    assert paid_twice(server, before) <= PER_QUESTION * CONCURRENCY


@pytest.mark.long
@needs_ray
def test_a_run_is_resumed_after_its_driver_was_stopped(server: OpenAIServer, undisturbed: Path, tmp_path: Path) -> None:
    before, out, said = len(server.requests), tmp_path / "run", tmp_path / "said"
    for how in (signal.SIGINT, signal.SIGKILL):
        asked = len(server.requests)
        with started(out, server, said) as driver:
            wait_until(lambda asked=asked: len(server.requests) > asked + 20)
            pids = workers(driver.pid)
            assert pids
            driver.send_signal(how)
            driver.wait(PATIENCE)
        assert ("KeyboardInterrupt" in said.read_text()) == (how == signal.SIGINT)
        wait_until(lambda pids=pids: not processes().keys() & pids)  # Ray's own agents take a minute longer
        assert len(results(out)) < 3 * QUESTIONS
    asked = len(server.requests)
    run_eval(options(out, server))
    assert len(server.requests) > asked
    assert results(out) == results(undisturbed)
    assert paid_twice(server, before) <= 2 * PER_QUESTION * CONCURRENCY


@needs_ray
async def test_a_worker_error_is_reported_in_one_line(server: OpenAIServer, tmp_path: Path) -> None:
    with ray_workers(2) as answer:
        with pytest.raises(HopgraphError) as raised:
            await answer(job(server, "one_step", retriever=f"bm25:{tmp_path}"), lambda _: None)
        assert isinstance(raised.value, CorpusError | SettingsError)
        assert str(tmp_path) in str(raised.value)
        assert "\n" not in str(raised.value)
        outcome = (await answer(job(server), lambda _: None)).outcome
        assert not outcome["error"]


@needs_ray
async def test_a_question_that_kills_its_workers_counts_as_failed(server: OpenAIServer) -> None:
    killed = set[int]()
    with ray_workers(1) as answer:
        asked = asyncio.ensure_future(answer(job(server), lambda _: None))
        while not asked.done():
            for pid in workers(os.getpid()):
                if descendants(os.getpid())[pid].startswith("ray::Worker.answer"):
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
            await asyncio.sleep(0.02)
        outcome, record, failure = await asked
        assert len(killed) == 3
        assert outcome["error"].startswith("lost with 3 Ray workers")
        assert (record, failure) == (None, "WorkerLostError")
        outcome = (await answer(job(server), lambda _: None)).outcome
        assert not outcome["error"]


def test_a_missing_ray_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SpecError, match=r"hopgraph\[ray\]"), ray_workers(1):
        pass


def test_a_ray_client_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://somewhere:10001")
    with pytest.raises(SettingsError, match=r"RAY_ADDRESS=ray://somewhere:10001.*HOST:6379"), ray_workers(1):
        pass


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:none"])
def test_an_unreachable_cluster_is_reported_at_once(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(RunError, match=f"the Ray cluster '{address}' cannot be used: "), ray_workers(1):
        pass
