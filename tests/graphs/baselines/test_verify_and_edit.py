"""Verify-and-Edit end to end: samples that agree or not, sentences that are edited, every edge, budgets."""

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from hopgraph.graphs.baselines import verify_and_edit
from support.baselines_script import (
    BORN,
    DIRECTED,
    FILM,
    NOISE,
    PERSON,
    QUESTION,
    Rated,
    by_title,
    queries_of,
    sampled,
    titles,
)
from support.walks import FixedRetriever, Script, Walk, drawn_edges, walk

WRONG = "Night Harbour was directed by Bo Lind."
ASKED = {WRONG: "Who directed the film Night Harbour?", BORN: "Where was Ada Brink born?"}
FOUND: dict[str, dict[str, tuple[str, str]]] = {
    "^Who": {"film": FILM, "noise": NOISE},
    "^Where was Ada": {"person": PERSON},
    "": {},
}
EDITED = {ASKED[WRONG]: DIRECTED, ASKED[BORN]: BORN}
SPLIT = sampled("Oslo", "Riga", "Oslo", "Narva", "unanswerable", reasons=[f"{WRONG} {BORN}"] * 5)
"""Two of five agree."""


def block(prompt: str, name: str) -> str:
    return re.findall(rf"<{name}>\n(.*?)\n</{name}>", prompt, re.DOTALL)[0]


def ask(prompt: str) -> str:
    return ASKED.get(block(prompt, "sentence"), "Who?")


def edit(prompt: str) -> str:
    return json.dumps({"answer": EDITED.get(block(prompt, "question"), "x"), "used_passages": [1]})


def replies(**other: Any) -> dict[str, Any]:
    samples = itertools.cycle(SPLIT)
    return {
        "answer_step_by_step": lambda _: next(samples),
        "verifying_questions": lambda prompt: json.dumps({"queries": [ask(prompt), "more"]}),
        "answer_in_a_sentence": edit,
        "answer": lambda _: '{"answer": "Tallinn"}',
        **other,
    }


def go(other: Mapping[str, Any] | None = None, **more: Any) -> tuple[Walk, Script]:
    script = Script(replies(**(other or {})))
    given: dict[str, Any] = {
        "model": script.model(),
        "retriever": FixedRetriever(found=FOUND),
        "reranker": Rated(by_title),
        **more,
    }
    return walk(verify_and_edit.graph, {"question": QUESTION}, verify_and_edit.Context(**given)), script


def agreeing(count: int) -> list[str]:
    return sampled(*["Tallinn"] * count, *"abcde"[count:], reasons=[BORN] * 5)


def test_each_sentence_is_looked_up_and_replaced() -> None:
    run, script = go()
    counted = {step: script.steps.count(step) for step in script.steps}
    assert counted == {"answer_step_by_step": 5, "verifying_questions": 2, "answer_in_a_sentence": 2, "answer": 1}
    assert queries_of(run) == list(EDITED)
    lines = [f"{ASKED[WRONG]} {DIRECTED} (source: It was directed by Ada Brink.)", f"{ASKED[BORN]} {BORN} (source: "]
    assert all(line in script.prompts[-1] for line in lines)
    assert WRONG not in script.prompts[-1]
    result = run.result
    assert (result["answer"], result["stop_reason"], result["usage"]["llm_calls"]) == ("Tallinn", "answered", 10)
    assert [(each["passage_id"], each["quote"]) for each in result["citations"]] == [
        ("film", "It was directed by Ada Brink."),
        ("person", "She was born in Tallinn."),
    ]


@pytest.mark.parametrize(("samples", "agree", "edits"), [(5, 3, False), (5, 2, True), (4, 2, False), (4, 1, True)])
def test_half_of_the_samples_must_agree(samples: int, agree: int, edits: bool) -> None:
    asked = {"answer_step_by_step": agreeing(agree)[:samples], "verifying_questions": lambda _: "{}"}
    run, script = go(asked, samples=samples, parse_retries=0)
    assert ("answer" in script.steps) == edits
    assert run.result["usage"]["llm_calls"] == (samples + 2 if edits else samples)  # BORN finds nothing
    assert bool(run.result["passages"]) <= edits


def test_the_nearest_sentences_are_shown_however_low_they_score() -> None:
    _, script = go(reranker=Rated(lambda text: -5.0 + ("ships" in text)), nearest_sentences=1)
    shown = [prompt for step, prompt in zip(script.steps, script.prompts, strict=True) if step.endswith("sentence")]
    assert [titles(prompt) for prompt in shown] == [["Harbour"], ["Ada Brink"]]
    assert ("A harbour shelters ships." in shown[0], "Many a film" in shown[0]) == (True, False)
    _, script = go()
    assert [len(re.findall(r"[.!]", block(each, "passages"))) for each in script.prompts if "<passages>" in each] == [
        3,
        2,
    ]


def test_a_sentence_is_replaced_even_by_one_that_agrees_with_it() -> None:
    longer = f"In short, {WRONG}"
    edited = {"answer_in_a_sentence": lambda _: json.dumps({"answer": longer, "used_passages": [1]})}
    assert longer in go(edited)[1].prompts[-1]


def test_a_sentence_that_nothing_answers_stays_and_is_not_grounded() -> None:
    unknown = {"answer_in_a_sentence": lambda _: '{"answer": "unanswerable"}', "verifying_questions": lambda _: "{}"}
    run, script = go(unknown, parse_retries=0)
    assert queries_of(run) == [WRONG, BORN]
    assert script.steps.count("answer_in_a_sentence") == 0  # these queries find nothing
    assert f"{WRONG} {WRONG} (not grounded)" in script.prompts[-1]
    assert [each["kind"] for each in run.result["citations"]] == ["model", "model"]


def test_without_a_rationale_the_question_is_looked_up() -> None:
    found: dict[str, dict[str, tuple[str, str]]] = {"": {"person": PERSON}}
    nothing = {"answer_step_by_step": sampled(*["unanswerable"] * 5, reasons=[""] * 5)}
    asked = {"verifying_questions": lambda _: json.dumps({"queries": [QUESTION]})}
    run, script = go({**nothing, **asked}, retriever=FixedRetriever(found=found))
    assert (queries_of(run), script.steps.count("verifying_questions")) == ([QUESTION], 1)
    assert [each["passage_id"] for each in run.result["citations"]] == ["person"]


def test_every_edge_of_the_drawing_is_walked() -> None:
    walked = go()[0].edges | go({"answer_step_by_step": agreeing(5)})[0].edges
    assert walked == drawn_edges(verify_and_edit.graph)
