"""A judge over HTTP: its prompts, and no repeated judgements."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from hopgraph.state import ModelError, RunError, SpecError
from hopgraph.tools.apps.evaluation.batch.judging import (
    JUDGEMENTS,
    JudgeAgreement,
    judge_run,
    read_judgements,
)
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from support.evaluation_runs import outcome, written_run
from support.servers import faults
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel

QUESTIONS = [
    EvalQuestion("q1", "Who was shot in Dallas?", ("John F. Kennedy", "JFK"), "", (), ()),
    EvalQuestion("q2", "Who wrote nothing?", (), "", (), ()),
    EvalQuestion("q3", "Where?", ("Oslo",), "", (), ()),
    EvalQuestion("q4", "How many?", None, "", (), ()),
]
OUTCOMES = [
    outcome("q1", "President Kennedy"),
    outcome("q1", "President Kennedy", method="direct"),
    outcome("q2"),
    outcome("q2", "somebody", method="direct"),
    outcome("q3"),
    outcome("q3", "Oslo", method="direct"),
    outcome("q4", "seven"),
    outcome("q4", error="lost", method="direct"),
]


def says(role: str, messages: list[BaseMessage]) -> str:
    assert role == "evaluation/judge"
    return json.dumps({"implied": any(name in messages[-1].text for name in ("President Kennedy", "Oslo\n</pred"))})


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(ScriptedChatModel(replies=says)) as running:
        yield running


@pytest.fixture
def run(tmp_path: Path) -> RunReader:
    return written_run(tmp_path, QUESTIONS, OUTCOMES, methods=("one_step", "direct"))


def spec(server: OpenAIServer) -> str:
    return f"openai:any?base_url={server.base_url}"


async def test_each_distinct_answer_is_judged_once(server: OpenAIServer, run: RunReader) -> None:
    seen: list[tuple[int, int]] = []
    assert "judged" not in summarize_run(run)["one_step"]
    await judge_run(run, spec(server), progress=lambda *numbers: seen.append(numbers))
    assert seen == [(1, 2), (2, 2)]
    assert len(server.requests) == 2
    summary = summarize_run(run)
    assert summary["one_step"]["judged"] == pytest.approx((1 + 1 + 0) / 3)  # right, right to be silent, silent
    assert summary["one_step"]["em"] == pytest.approx((0 + 1 + 0) / 3)
    assert summary["direct"]["judged"] == pytest.approx((1 + 0 + 1) / 3)
    assert summary["direct"]["judge"] == spec(server)
    assert read_judgements(run).audit is None


async def test_it_sees_the_question_all_gold_answers_and_the_prediction(server: OpenAIServer, run: RunReader) -> None:
    await judge_run(run, spec(server))
    asked = next(json.dumps(each.body) for each in server.requests if "Dallas" in json.dumps(each.body))
    assert all(text in asked for text in ("Who was shot in Dallas?", "John F. Kennedy", "JFK", "President Kennedy"))
    assert "imply a ground-truth answer" in asked  # and no other condition (GenGround, Appendix I)
    assert "only a part" not in asked


async def test_judgements_survive_a_kill_and_are_not_repeated(server: OpenAIServer, run: RunReader) -> None:
    await judge_run(run, spec(server))
    path = run.folder / JUDGEMENTS
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:9])  # the judge, one judgement, half a judgement
    assert "judged" not in summarize_run(run)["direct"]  # an incomplete judgement is not a fair sample
    await judge_run(run, spec(server))
    assert len(server.requests) == 3
    await judge_run(run, spec(server))
    assert len(server.requests) == 3
    assert summarize_run(run)["direct"]["judged"] == pytest.approx(2 / 3)


async def test_another_judge_starts_over_and_the_last_one_counts(server: OpenAIServer, run: RunReader) -> None:
    await judge_run(run, spec(server))
    with OpenAIServer(ScriptedChatModel(replies=lambda *_: '{"implied": false}')) as strict:
        await judge_run(run, spec(strict))
        assert summarize_run(run)["one_step"]["judged"] == pytest.approx(1 / 3)
    before = len(server.requests)
    await judge_run(run, spec(server))
    assert len(server.requests) == before
    assert read_judgements(run).judge == spec(server)
    assert summarize_run(run)["one_step"]["judged"] == pytest.approx(2 / 3)


async def test_verdicts_from_another_judge_prompt_do_not_count(server: OpenAIServer, run: RunReader) -> None:
    await judge_run(run, spec(server))
    path = run.folder / JUDGEMENTS
    before = path.read_text().replace('"right": true', '"right": false')
    path.write_text(re.sub(r'"prompt": "\w+"', '"prompt": "another"', before))
    await judge_run(run, spec(server))
    assert summarize_run(run)["one_step"]["judged"] == pytest.approx(2 / 3)


async def test_an_unusable_judgement_counts_as_wrong(run: RunReader) -> None:
    with OpenAIServer(ScriptedChatModel(replies=lambda *_: "I would rather not say.")) as server:
        await judge_run(run, spec(server))
    assert summarize_run(run)["one_step"]["judged"] == pytest.approx(1 / 3)


async def test_a_failing_judge_is_reported_and_keeps_its_judgements(server: OpenAIServer, run: RunReader) -> None:
    server.fail_when(lambda request: "Oslo" in json.dumps(request.body), faults.ErrorStatus(401, "wrong key"))
    with pytest.raises(ModelError, match="401"):
        await judge_run(run, spec(server), parallel=1)
    assert len(read_judgements(run).verdicts) == 1


@pytest.mark.parametrize("stand_in", ["offline:extractive", "rehearsal:questions.json"])
async def test_a_stand_in_is_refused_as_judge(stand_in: str, run: RunReader) -> None:
    with pytest.raises(SpecError, match="a simulated model cannot judge"):
        await judge_run(run, stand_in)


def test_a_damaged_line_is_named(run: RunReader) -> None:
    (run.folder / JUDGEMENTS).write_text('{"judge": "x"}\n{oops}\n')
    with pytest.raises(RunError, match=r"judgements.jsonl:2: Invalid JSON"):
        read_judgements(run)


def shown(messages: list[BaseMessage]) -> tuple[str, str]:
    """Return the gold answers and the prediction that a judge was shown."""
    found = [
        re.search(rf"<{name}>\n(.*?)\n</{name}>", messages[-1].text, re.DOTALL)
        for name in ("gold_answers", "prediction")
    ]
    gold, prediction = (each[1] if each else "" for each in found)
    assert gold
    assert prediction
    return gold, prediction


def compares(role: str, messages: list[BaseMessage]) -> str:
    gold, prediction = shown(messages)
    return json.dumps({"implied": prediction in gold})


def knows(role: str, messages: list[BaseMessage]) -> str:
    known = "John F. Kennedy" if "Dallas" in messages[-1].text else "Oslo"
    return json.dumps({"implied": shown(messages)[1] == known})


def agreement(run: RunReader) -> JudgeAgreement | None:
    return read_judgements(run).agreement(run.latest("one_step").values())


async def test_two_judges_are_compared(tmp_path: Path) -> None:
    asked = [EvalQuestion(f"q{n}", "Who?", ("Ann Ash",)) for n in range(10)]
    answers = ["Ann Ash"] * 4 + ["Ann"] * 3 + ["Bea"] * 3
    outcomes = [outcome(each.id, answer) for each, answer in zip(asked, answers, strict=True)]
    run = written_run(tmp_path, asked, outcomes)
    assert agreement(run) is None
    with (
        OpenAIServer(ScriptedChatModel(replies=compares)) as lenient,
        OpenAIServer(
            ScriptedChatModel(replies=lambda *each: json.dumps({"implied": shown(each[1])[1] == "Ann Ash"}))
        ) as strict,
    ):
        await judge_run(run, spec(strict), second=spec(lenient))
        found = agreement(run)
        # Both 4 right and 3 wrong, one 3 more right: (0.7 - 0.4 · 0.7 - 0.6 · 0.3) / (1 - 0.4 · 0.7 - 0.6 · 0.3)
        assert found
        assert (found.judge, found.n, found.agreed) == (spec(lenient), 10, 0.7)
        assert found.kappa == pytest.approx((0.7 - 0.46) / (1 - 0.46))
        summary = summarize_run(run)["one_step"]
        assert (summary["judge"], summary["judged"], summary["second_judge"]) == (spec(strict), 0.4, found._asdict())
        with pytest.raises(SpecError, match="this is the judge itself"):
            await judge_run(run, spec(strict), second=spec(strict))


@pytest.mark.parametrize(("judge", "followed"), [(compares, 0.0), (knows, 1.0)])
async def test_an_audit_reveals_a_judge_that_ignores_the_gold_answers(
    judge: Any, followed: float, run: RunReader
) -> None:
    """The gold answers of two questions are swapped; the second judge ignores them."""
    with OpenAIServer(ScriptedChatModel(replies=judge)) as server:
        await judge_run(run, spec(server), audit=True)
        calls = len(server.requests)
        assert calls == 2 + 4
        await judge_run(run, spec(server), audit=True)
        assert len(server.requests) == calls
    assert read_judgements(run).audit == (2, followed, followed)
    assert summarize_run(run)["direct"]["judge_audit"]["n"] == 2
    assert len(read_judgements(run).verdicts) == 2  # swapped judgements are not judgements of the answers
