"""Error, failure and memory rates of the rehearsal model, and its determinism."""

import asyncio
import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from hopgraph.graphs import migres
from hopgraph.nodes.decide import Decision
from hopgraph.tools.apps.evaluation.rehearsal import RehearsalModel, make_rehearsal
from hopgraph.tools.apps.evaluation.rehearsal.oracle import RehearsalOptions
from hopgraph.tools.models import UnusableReplyError, parse_reply
from support.walks import walk

FILM = "Night Harbour is a drama film that won several prizes. Its director was Ada Brink. It ran for a year."
MANY = 300
QUESTION = "Where was the director of Night Harbour born?"


def prompt(step: str, blocks: str, number: int = 0) -> list[BaseMessage]:
    """Return a prompt; the number only makes it distinct."""
    question = f"<question>\n{QUESTION}\n</question>"
    return [SystemMessage(f"Role: test/{step}\nPrompt {number}."), HumanMessage(f"{blocks}\n\n{question}")]


def decided(model: RehearsalModel, number: int) -> list[BaseMessage]:
    del model
    return prompt("decide", "<information>\n(none)\n</information>", number)


def shown(title: str, text: str) -> str:
    return f'<passages>\n<passage id="1" title="{title}">\n{text}\n</passage>\n</passages>'


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.4, 1.0])
def test_judgements_have_the_requested_error_rate(films: Path, rate: float) -> None:
    model = make_rehearsal(f"{films}?error={rate}&seed=5")
    right = [
        json.loads(model.reply_to(prompt("review", shown("Night Harbour", FILM), number)))["relevant"]
        for number in range(MANY)
    ]
    assert 1 - sum(right) / MANY == pytest.approx(rate, abs=4 * (rate * (1 - rate) / MANY) ** 0.5)


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
def test_replies_have_the_requested_failure_rate(films: Path, rate: float) -> None:
    model = make_rehearsal(f"{films}?parse_failure={rate}")
    unusable = 0
    for number in range(MANY):
        try:
            parse_reply(model.reply_to(decided(model, number)), Decision)
        except UnusableReplyError:
            unusable += 1
    assert unusable / MANY == pytest.approx(rate, abs=4 * (rate * (1 - rate) / MANY) ** 0.5)


def test_a_retry_can_succeed_and_is_about_the_same_question(films: Path) -> None:
    model = make_rehearsal(f"{films}?parse_failure=0.5")
    proper = make_rehearsal(str(films)).reply_to(decided(model, 0))
    again = [AIMessage("(empty)"), HumanMessage("That reply cannot be used: no object. Reply again.")]
    said = {model.reply_to([*decided(model, number), *again]) for number in range(20)}
    assert proper in said
    assert len(said) > 1


def test_a_run_survives_unusable_replies(films: Path, films_index: str) -> None:
    model = make_rehearsal(f"{films}?parse_failure=0.3&seed=2")
    settings = migres.Context(model=model, retriever=films_index, parse_retries=6)
    ran = walk(migres.graph, {"question": QUESTION}, settings)
    perfect = migres.Context(model=make_rehearsal(str(films)), retriever=films_index)
    assert ran.result["usage"]["parse_failures"] > 0
    assert ran.result["answer"] == walk(migres.graph, {"question": QUESTION}, perfect).result["answer"] == "Larvik"


def test_errors_within_one_prompt_are_independent(films: Path) -> None:
    model = make_rehearsal(f"{films}?error=0.5")
    said = [json.loads(model.reply_to(prompt("review", shown("Night Harbour", FILM), n))) for n in range(400)]
    pairs = {(each["relevant"], each["enough"]) for each in said}
    assert pairs == {(True, True), (True, False), (False, True), (False, False)}


def test_the_share_of_facts_in_memory(perfect: RehearsalModel) -> None:
    asked = [f"{question}" for question in ("Who is the director of Night Harbour?", "Where was Ada Brink born?")]
    known = 0
    for seed in range(300):
        model = RehearsalModel(
            book=perfect.book, options=RehearsalOptions.model_validate({"knowledge": 0.3, "seed": seed})
        )
        for question in asked:
            message = HumanMessage(f"<question>\n{question}\n</question>")
            said = model.reply_to([SystemMessage("Role: ra_isf/self_knowledge"), message])
            known += json.loads(said)["known"]
    assert known / 600 == pytest.approx(0.3, abs=0.08)


def test_the_same_prompt_gets_the_same_reply_in_every_process_and_version(films: Path) -> None:
    model = make_rehearsal(f"{films}?error=0.5&parse_failure=0.2&seed=3")
    said = [model.reply_to(prompt("review", shown("Night Harbour", FILM), number)) for number in range(16)]
    parsed = [json.loads(each) if each.startswith('{"relevant": ') else {} for each in said]
    assert "".join(str(each.get("relevant", "-"))[0] for each in parsed) == "-TFFFTT---TFT-FF"


async def test_the_latencies_of_concurrent_calls_overlap(films: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, together = make_rehearsal(f"{films}?latency=0.3"), asyncio.Barrier(20)

    async def sleep(seconds: float) -> None:
        assert seconds == 0.3
        await together.wait()

    monkeypatch.setattr(asyncio, "sleep", sleep)
    await asyncio.gather(*(model.ainvoke(decided(model, number)) for number in range(20)))
