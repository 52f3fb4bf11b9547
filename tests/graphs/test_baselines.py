"""The baselines that read or answer at once: every edge, role, budget and malformed reply; then each one's own."""

from pathlib import Path

import pytest

from support.baselines_script import (
    METHODS,
    ROLES,
    go,
    input_for,
    labels_in,
    replies,
    settings_for,
)
from support.fake_clock import FakeClock
from support.servers.scripted_model import WavesChatModel
from support.walks import Script, drawn_edges

CLOSED_BOOK = {"direct", "cot", "cot_sc"}
CITED: dict[str, list[str]] = {
    method: [] if method in {*CLOSED_BOOK, "one_step", "one_step_cot"} else ["person"] for method in METHODS
}


@pytest.mark.parametrize("method", METHODS)
def test_the_roles_the_answer_and_what_it_rests_on(method: str) -> None:
    run, script = go(method)
    result = run.result
    assert script.steps == ROLES[method]
    assert result["usage"]["llm_calls"] == len(ROLES[method])
    found = method not in {"one_step", "one_step_cot"}  # the second hop is out of their reach
    assert (result["answer"], result["stop_reason"]) == (("Tallinn", "answered") if found else ("", "unanswerable"))
    assert [each["passage_id"] for each in result["citations"]] == CITED[method]
    assert all(each["quote"] == "She was born in Tallinn." for each in result["citations"])
    assert [passage["id"] for passage in result["passages"]][: len(CITED[method])] == CITED[method]
    assert bool(result["passages"]) == (method not in CLOSED_BOOK)
    assert set(METHODS[method].Context.steps) == set(ROLES[method])


IRRELEVANT = {step: lambda _: '{"text": "irrelevant"}' for step in ("summarize", "snippet")}


@pytest.mark.parametrize("method", METHODS)
def test_every_edge_of_the_drawing_is_walked(method: str, tmp_path: Path) -> None:
    walked = go(method)[0].edges
    if method in {"summ", "snippet"}:
        walked |= go(method, IRRELEVANT, context_passages=1)[0].edges
    if method == "skr_knn":
        walked |= go(method, labels=labels_in(tmp_path, "harms"))[0].edges
    assert walked == drawn_edges(METHODS[method].graph)


@pytest.mark.parametrize(
    ("method", "answer"), [("iter_retgen", ""), ("ircot", ""), ("summ", "Tallinn"), ("cot_sc", "Tallinn")]
)
def test_one_call_gives_the_best_answer_that_it_can(method: str, answer: str) -> None:
    run, script = go(method, max_llm_calls=1)
    assert script.steps == ROLES[method][-1:]
    assert (run.result["answer"], run.result["stop_reason"]) == (answer, "budget")


def test_a_deadline_ends_a_run_with_what_is_there(clock: FakeClock) -> None:
    script = Script(replies(answer_step_by_step=lambda _: '{"answer": "Ada Brink", "reasoning": "So."}'))
    slow = script.model(latency=lambda _: clock.run_out() if len(script.steps) > 2 else 0)
    settings = settings_for("iter_retgen", script, model=slow, iterations=20, deadline_seconds=2)
    result = METHODS["iter_retgen"].graph.invoke(input_for("iter_retgen"), context=settings)
    assert (result["answer"], result["stop_reason"]) == ("Ada Brink", "budget")


@pytest.mark.parametrize("method", METHODS)
def test_yes_no_answers_are_yes_or_no(method: str) -> None:
    roles: list[str] = ["answer", "answer_step_by_step"]
    other = dict.fromkeys(roles, lambda _: '{"answer": "Yes, it was.", "used_passages": [1]}')
    run, script = go(method, other, **METHODS[method].Context.presets["yes_no"])
    assert run.result["answer"] == "yes"
    assert "<answer_type>\nyes_no" in script.prompts[-1]


@pytest.mark.parametrize("method", sorted(CLOSED_BOOK))
def test_a_closed_book_shows_no_passages(method: str) -> None:
    run, script = go(method)
    assert all("<passages>" not in prompt for prompt in script.prompts)
    assert run.result["usage"]["retrievals"] == 0


@pytest.mark.parametrize(
    ("method", "waves"),
    [
        ("cot_sc", [5]),
        ("rerank", [4]),
        ("summ", [3, 1]),
        ("iter_retgen", [1, 1]),
        ("ircot", [1, 1, 1]),
        ("dsp", [5, 5, 5]),
    ],
)
def test_calls_that_do_not_depend_on_each_other_run_at_the_same_time(method: str, waves: list[int]) -> None:
    script = Script(replies())
    model = WavesChatModel(replies=script, waves=waves)
    METHODS[method].graph.invoke(input_for(method), context=settings_for(method, script, model=model))
    assert len(script.steps) == sum(waves)
