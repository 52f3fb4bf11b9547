"""Failures in a run: a refused key stops it, an outage is waited for, and a bad question fails alone."""

import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from support.servers import faults
from support.servers.faults import ErrorStatus
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel
from support.servers.traffic import RecordedRequest
from support.waiting import PATIENCE

Run = Callable[..., Any]
CONCURRENCY = 16
AT_ONCE = {"direct": 1, "cot_sc": 5}
"""Calls that a question of a method has under way at once."""
FIRST_FAILS = ("--set", "request_retries=0")


def answered(_role: str, messages: list[BaseMessage]) -> str:
    number = re.findall(r"number (\d+)", messages[-1].text)[-1]
    return json.dumps({"reasoning": "", "answer": number, "used_passages": []})


def model_server(port: int = 0) -> OpenAIServer:
    return OpenAIServer(ScriptedChatModel(replies=answered), port=port)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with model_server() as running:
        yield running


def question(number: int, text: str = "") -> str:
    return json.dumps({"id": f"q{number}", "question": f"{text}What is number {number}?", "answers": [str(number)]})


def written(folder: Path, count: int, *extra: str) -> Path:
    """Write a data set: the given lines, then this many questions."""
    path = folder / "questions.jsonl"
    path.write_text("\n".join([*extra, *map(question, range(count))]), encoding="utf-8")
    return path


def command(data: Path, out: Path, server: OpenAIServer, *more: str, methods: str = "direct") -> list[str]:
    model = f"openai:any?base_url={server.base_url}"
    given = ["eval", str(data), "--methods", methods, "--corpus", "sample", "--out", str(out), "--model", model]
    return [*given, "--concurrency", str(CONCURRENCY), "--processes", "1", *more]


def answers(out: Path, method: str = "direct") -> dict[str, str]:
    """Return the answer of each question that did not fail."""
    return {each["id"]: each["answer"] for each in RunReader(out).latest(method).values() if not each["error"]}


def right(*numbers: int) -> dict[str, str]:
    return {f"q{number}": str(number) for number in numbers}


class After:
    """Selects every request after a number of them, and counts those selected."""

    def __init__(self, passing: int) -> None:
        self.passing, self.seen, self.picked = passing, 0, 0

    def __call__(self, _: RecordedRequest) -> bool:
        self.seen += 1
        self.picked += self.seen > self.passing
        return self.seen > self.passing


def check_refusal(
    run: Run,
    server: OpenAIServer,
    folder: Path,
    *more: str,
    status: int = 401,
    methods: str = "direct",
    count: int = 60,
) -> int:
    """Refuse all requests from the middle of a run on; return the number of later requests."""
    data, out, refused = written(folder, count), folder / "run", After(count * AT_ONCE[methods] // 2)
    at_once = CONCURRENCY * AT_ONCE[methods]
    server.fail_when(refused, ErrorStatus(status, "no such key or model"))
    ran = run(*command(data, out, server, *more, methods=methods))
    last = ran.err.splitlines()[-1]
    assert (ran.code, ran.out) == (1, "")
    assert f"HTTP {status}" in last
    assert "run the same command with --retry-failed" in last
    assert len(answers(out, methods)) >= count // 2 - CONCURRENCY
    server.forget_faults()
    time.sleep(1.1)  # as long as a refusal holds for requests not yet sent
    assert run(*command(data, out, server, *more, "--retry-failed", methods=methods)).code == 0
    assert answers(out, methods) == right(*range(count))
    paid_twice = len(server.requests) - count * AT_ONCE[methods] - refused.picked
    assert 0 <= paid_twice <= at_once  # requests in flight
    return refused.picked


@pytest.mark.slow
def test_a_run_that_fails_before_its_first_answer_leaves_no_folder(
    run: Run, server: OpenAIServer, tmp_path: Path
) -> None:
    data, out = written(tmp_path, 30), tmp_path / "runs" / "first"
    server.fail_when(lambda _: True, ErrorStatus(401, "no such key"))
    assert run(*command(data, out, server)).code == 1
    assert not out.parent.exists()
    out.mkdir(parents=True)
    (out / "dataset-1.jsonl").write_text("downloaded")
    assert run(*command(data, out, server)).code == 1
    assert [each.name for each in out.iterdir()] == ["dataset-1.jsonl"]
    server.forget_faults()
    time.sleep(1.1)  # as long as a refusal holds for requests not yet sent
    assert run(*command(data, out, server, "--set", "temperature=1")).code == 0
    server.fail_when(lambda _: True, ErrorStatus(401, "no such key"))
    other = run(*command(data, out, server, "--set", "temperature=1", methods="cot"))
    assert (other.code, len(answers(out))) == (1, 30), "what was answered before is kept"


@pytest.mark.parametrize("count", [3, 60])
def test_a_run_whose_replies_are_all_unusable_is_an_error(run: Run, tmp_path: Path, count: int) -> None:
    data, out = written(tmp_path, count), tmp_path / "run"
    with OpenAIServer(ScriptedChatModel(replies=lambda *_: "I would rather talk about the weather.")) as talking:
        ran = run(*command(data, out, talking))
        asked = len(talking.requests)
    assert (ran.code, ran.out) == (1, "")
    assert re.search(r"openai:\S+ never returned valid JSON \(\d+ calls\)", " ".join(ran.err.split()))
    assert asked <= 3 * (20 + CONCURRENCY)
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, *(pytest.param(each, marks=pytest.mark.long) for each in (402, 403, 404))])
def test_a_refusal_stops_a_long_run(run: Run, server: OpenAIServer, tmp_path: Path, status: int) -> None:
    assert 1 <= check_refusal(run, server, tmp_path, status=status, count=200) <= CONCURRENCY


@pytest.mark.slow
def test_a_refusal_stops_calls_that_wait_for_their_turn(run: Run, server: OpenAIServer, tmp_path: Path) -> None:
    assert 1 <= check_refusal(run, server, tmp_path, methods="cot_sc") <= CONCURRENCY


def check_outage(run: Run, folder: Path, count: int, seconds: float, *more: str) -> Any:
    """Stop the server in the middle of a run, and restart it at the same address."""
    server, again = model_server(), list[OpenAIServer]()

    def restart() -> None:
        deadline = time.monotonic() + PATIENCE
        while len(server.requests) < count // 3 and time.monotonic() < deadline:
            time.sleep(0.002)
        server.close()
        time.sleep(seconds)
        again.append(model_server(server.port))
        again[0].start()

    restarting = threading.Thread(target=restart)
    server.start()
    restarting.start()
    ran = run(*command(written(folder, count), folder / "run", server, *more))
    restarting.join()
    again[0].close()
    assert ran.code == 0, ran.err
    assert answers(folder / "run") == right(*range(count))
    return ran


@pytest.mark.slow
def test_a_run_waits_for_an_outage_to_end(run: Run, tmp_path: Path) -> None:
    ran = check_outage(run, tmp_path, 30, 0.5, *FIRST_FAILS)
    assert "(waiting up to 300 s, see --max-outage)" in " ".join(ran.err.split())


def check_faults(run: Run, server: OpenAIServer, folder: Path, count: int, *more: str) -> None:
    """Check that the answers are the same if 30 % of the requests fail in ways that a retry fixes."""
    chance = random.Random(5)
    kinds = [
        *(faults.rate_limited(0.01), faults.server_error(), faults.server_error(503, html=True)),
        *(faults.dropped("answer"), faults.dropped("body"), faults.dropped("end"), faults.malformed_body()),
        faults.slow(8),
    ]
    for number, kind in enumerate(kinds, 1):  # each takes its share of what the ones before it let pass
        share = 0.3 / len(kinds) / (1 - 0.3 * (number - 1) / len(kinds))
        server.fail_when(lambda _, share=share: chance.random() < share, kind)
    data = written(folder, count)
    ran = run(*command(data, folder / "run", server, "--set", "request_timeout=4", *more))
    assert len(server.requests) > 1.2 * count
    assert ran.code == 0, ran.err
    server.forget_faults()
    assert run(*command(data, folder / "calm", server)).code == 0
    assert answers(folder / "run") == answers(folder / "calm") == right(*range(count))


@pytest.mark.slow
def test_a_run_waits_for_faults_even_without_retries(run: Run, server: OpenAIServer, tmp_path: Path) -> None:
    check_faults(run, server, tmp_path, 30, *FIRST_FAILS)


def test_repeated_identical_errors_stop_the_run(run: Run, server: OpenAIServer, tmp_path: Path) -> None:
    data, out, failing = written(tmp_path, 48), tmp_path / "run", After(10)
    server.fail_when(failing, faults.server_error(503))
    ran = run(*command(data, out, server, *FIRST_FAILS, "--max-outage", "0"))
    assert (ran.code, ran.out) == (1, "")
    assert re.search(r"after 2\d failures in a row", ran.err)
    assert 20 <= failing.picked <= 20 + 2 * CONCURRENCY
    assert len(answers(out)) == 10


def test_a_failed_question_is_reported_and_scored_both_ways(run: Run, server: OpenAIServer, tmp_path: Path) -> None:
    data, out = written(tmp_path, 10), tmp_path / "run"
    server.fail_when(lambda request: "number 3?" in json.dumps(request.body), faults.server_error())
    ran = run(*command(data, out, server, *FIRST_FAILS, "--max-outage", "0.1"))
    assert ran.code == 3
    said = " ".join(ran.err.split())
    assert "1 of 10 questions failed, and count as wrong; the same command with --retry-failed asks them again" in said
    assert re.search(r"again\. 1 × .*HTTP 500", said)
    shown = re.sub(r"\s+", " ", ran.out)
    assert "EM without failed F1 without failed" in shown
    assert re.search(r"direct 10 90\.0 .* 1 100\.0 100\.0", shown)
    summary = json.loads((out / "summary.json").read_text())["direct"]
    assert (summary["failed"], summary["em"]) == (1, 0.9)
    assert (summary["without_failed"]["n"], summary["without_failed"]["em"], summary["without_failed"]["f1"]) == (
        9,
        1,
        1,
    )
    compared = re.sub(r"\s+", " ", run("compare", str(out)).out)
    assert "EM without failed F1 without failed" in compared
    assert run(*command(data, out, server, *FIRST_FAILS)).code == 3  # from an earlier session
    server.forget_faults()
    again = run(*command(data, out, server, *FIRST_FAILS, "--retry-failed"))
    assert (again.code, "without failed" in again.out) == (0, False)


@pytest.mark.parametrize("methods", ["direct", "direct,cot"])
def test_a_run_whose_questions_all_fail_says_why_and_can_be_resumed(
    run: Run, server: OpenAIServer, tmp_path: Path, methods: str
) -> None:
    data, out, told = written(tmp_path, 3), tmp_path / "run", "This model's maximum context length is 512 tokens"
    server.fail_when(lambda _: True, ErrorStatus(400, told))
    go = command(data, out, server, methods=methods)
    ran, count = run(*go), 3 * len(methods.split(","))
    assert ran.code == 3
    said = " ".join(ran.err.split())
    assert f"{count} of {count} questions failed" in said
    assert "maximum context length" in said
    assert len(RunReader(out).latest("direct")) == 3
    assert run(*go).code == 3
    server.forget_faults()
    assert run(*go, "--retry-failed").code == 0
    assert answers(out) == right(*range(3))


def test_the_exit_code_distinguishes_a_limit_from_unusable_replies(
    run: Run, server: OpenAIServer, tmp_path: Path
) -> None:
    data = written(tmp_path, 12)
    limited = run(*command(data, tmp_path / "limited", server, "--max-calls", "3"))
    assert (limited.code, "--max-calls 3" in limited.err) == (4, True)

    def mostly_chat(role: str, messages: list[BaseMessage]) -> str:
        return answered(role, messages) if "number 3?" in messages[-1].text else "Let us talk about the weather."

    with OpenAIServer(ScriptedChatModel(replies=mostly_chat)) as talking:
        chatty = run(*command(data, tmp_path / "chatty", talking))
    assert (chatty.code, "replies could not be used" in " ".join(chatty.err.split())) == (5, True)


def test_a_question_that_is_too_long_fails_alone(run: Run, server: OpenAIServer, tmp_path: Path) -> None:
    long = [question(1000 + number, "x" * 10_001) for number in range(25)]
    ran = run(*command(written(tmp_path, 5, *long), tmp_path / "run", server))
    assert ran.code == 3
    assert answers(tmp_path / "run") == right(*range(5))
    failed = [each["error"] for each in RunReader(tmp_path / "run").latest("direct").values() if each["error"]]
    assert len(failed) == 25
    assert re.fullmatch(r"the question has 10,0\d\d characters; the limit is 10,000", failed[0])


def test_bad_records_are_skipped_and_reported(run: Run, server: OpenAIServer, tmp_path: Path) -> None:
    data, out = written(tmp_path, 4, question(7), '{"id": "bad", "question": "Who?"}', "no JSON"), tmp_path / "run"
    refused = run(*command(data, out, server))
    assert (refused.code, "--skip-invalid" in refused.err) == (1, True)
    for told in ("questions.jsonl:2", "questions.jsonl:2"):  # also when resumed
        ran = run(*command(data, out, server, "--skip-invalid"))
        assert ran.code == 0, ran.err
        said = " ".join(ran.err.split())
        assert "questions: skipped 2 invalid records, the first:" in said
        assert told in said.replace(" ", "")
    assert answers(out) == right(7, 0, 1, 2, 3)
