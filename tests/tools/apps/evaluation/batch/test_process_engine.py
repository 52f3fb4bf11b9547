"""A run in two processes: the same result as in one, even if one is killed, and no repeated calls."""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import CorpusError
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.models.offline import RuleBasedModel
from support.paths import SAMPLE
from support.servers.openai_server import OpenAIServer

pytestmark = pytest.mark.slow

METHODS = "migres,cot_sc,gold_passages"


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(RuleBasedModel(), latency=0.05) as running:
        yield running


def options(out: Path, server: OpenAIServer, **fields: Any) -> EvalOptions:
    given: dict[str, Any] = {"methods": METHODS, "limit": 6, "concurrency": 6, **fields}
    return EvalOptions(dataset=SAMPLE, out=out, model=f"openai:any?base_url={server.base_url}", **given)


def summary(out: Path) -> dict[str, Any]:
    """Return the scores of a run, without times and cache counts."""
    found = summarize_run(RunReader(out))
    return {
        method: {key: value for key, value in each.items() if "seconds" not in key and "cached" not in key}
        for method, each in found.items()
    }


@pytest.fixture(scope="module")
def in_one(server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("runs") / "one"
    run_eval(options(out, server))
    return summary(out)


def test_a_process_that_is_killed_loses_no_question(
    server: OpenAIServer, in_one: dict[str, Any], tmp_path: Path
) -> None:
    before, killed = len(server.requests), list[int]()

    def kill_one() -> None:
        deadline = time.monotonic() + 120
        while len(server.requests) < before + 8 and time.monotonic() < deadline:
            time.sleep(0.01)
        victim = multiprocessing.active_children()[0].pid
        assert victim
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    killing = threading.Thread(target=kill_one)
    killing.start()
    run_eval(options(tmp_path, server, processes=2))
    killing.join()
    assert killed
    assert summary(tmp_path) == in_one
    asked = Counter(json.dumps(request.body, sort_keys=True) for request in server.requests[before:])
    samples = sum(count - 1 for body, count in asked.items() if "cot_sc/" in body and count <= 5)
    under_way = 6 * 5
    assert sum(asked.values()) - len(asked) - samples <= under_way


def test_an_error_that_affects_every_question_is_reported(server: OpenAIServer, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    with pytest.raises(CorpusError):
        run_eval(options(tmp_path / "run", server, processes=2, corpus=str(corpus)))
    assert not multiprocessing.active_children()
