"""ITER-RETGEN, IRCoT and ITRG: what is searched by turns, and how it ends."""

import json
import re
from typing import Any

import pytest

from support.baselines_script import (
    BORN,
    DIRECTED,
    FILM,
    FOUND,
    NOISE,
    PERSON,
    QUESTION,
    go,
    queries_of,
    read,
    sampled,
    titles,
)
from support.walks import FixedRetriever


def test_iter_retgen_searches_with_what_was_generated() -> None:
    run, script = go("iter_retgen")
    assert queries_of(run) == [QUESTION, f"{DIRECTED} {QUESTION}"]
    assert [titles(prompt) for prompt in script.prompts] == [
        ["Harbour", "Night Harbour"],
        ["Night Harbour", "Ada Brink"],
    ]
    assert run.result["usage"]["iterations"] == 2
    assert [passage["id"] for passage in run.result["passages"]] == ["person", "noise", "film"]


@pytest.mark.parametrize("turns", [1, 2, 4])
def test_iter_retgen_has_t_turns(turns: int) -> None:
    run, script = go("iter_retgen", iterations=turns)
    assert len(script.steps) == run.result["usage"]["retrievals"] == turns


def test_iter_retgen_keeps_an_earlier_answer_when_the_last_turn_has_none() -> None:
    answers = [*sampled("Narva", reasons=[DIRECTED], used=[[2]]), *sampled("unanswerable")]
    run, _ = go("iter_retgen", {"answer_step_by_step": answers})
    assert (run.result["answer"], run.result["explanation"]) == ("Narva", DIRECTED)
    assert [each["passage_id"] for each in run.result["citations"]] == ["film"]


def test_iter_retgen_cites_what_the_last_turn_rests_on() -> None:
    answers = sampled("Narva", "Tallinn", reasons=[DIRECTED, BORN], used=[[2], [2]])
    run, _ = go("iter_retgen", {"answer_step_by_step": answers})
    assert [each["id"] for each in run.state["evidence"]] == ["1.1.1", "2.1.1"]
    assert [each["passage_id"] for each in run.result["citations"]] == ["person"]


def test_iter_retgen_does_not_search_for_a_turn_that_the_budget_does_not_reach() -> None:
    run, _ = go("iter_retgen", iterations=5, max_llm_calls=2)
    assert (run.result["usage"]["retrievals"], run.result["answer"]) == (2, "Tallinn")
    assert run.result["stop_reason"] == "budget"


def test_iter_retgen_ends_when_nothing_was_generated() -> None:
    run, _ = go("iter_retgen", {"answer_step_by_step": sampled("unanswerable", reasons=[""])})
    assert (run.result["stop_reason"], queries_of(run)) == ("unanswerable", [QUESTION])


def thoughts(*texts: str) -> list[str]:
    return [json.dumps({"thought": text}) for text in texts]


def test_ircot_searches_for_each_sentence_and_reads_all_that_was_found() -> None:
    run, script = go("ircot")
    assert queries_of(run) == [QUESTION, DIRECTED]  # of two sentences the first
    assert [titles(prompt) for prompt in script.prompts] == [
        ["Harbour", "Night Harbour"],
        ["Harbour", "Night Harbour", "Ada Brink"],
        ["Harbour", "Night Harbour", "Ada Brink"],
    ]
    assert re.search(r"<thoughts>\n<item id=\"1\">" + re.escape(DIRECTED), script.prompts[1])
    kept = [[each["passage_id"] for each in entry["excerpts"]] for entry in run.state["knowledge"]]
    assert kept == [["noise", "film"], ["person"]]
    assert run.state["thoughts"] == [DIRECTED, "So the answer is: Tallinn."]


@pytest.mark.parametrize(
    ("said", "more", "steps", "stop_reason"),
    [
        (["One.", "Two.", "Three."], {"max_thoughts": 3}, 3, "max_iterations"),
        (["One.", "Two.", "So the answer is: x"], {"max_thoughts": 3}, 3, "answered"),
        (["One.", "one"], {}, 2, "answered"),
        ([""], {}, 1, "answered"),
        (["The answer is: x."], {}, 1, "answered"),
    ],
    ids=["limit", "reached at the limit", "repeated", "nothing", "at once"],
)
def test_how_the_chain_ends(said: list[str], more: dict[str, Any], steps: int, stop_reason: str) -> None:
    other = {"next_thought": thoughts(*said), "answer_step_by_step": sampled("x")}
    run, script = go("ircot", other, **more)
    assert script.steps == ["next_thought"] * steps + ["answer_step_by_step"]
    assert (run.result["answer"], run.result["stop_reason"]) == ("x", stop_reason)
    assert run.result["usage"]["retrievals"] == steps


def test_ircot_collects_no_more_passages_than_it_may() -> None:
    found: dict[str, dict[str, tuple[str, str]]] = {
        "^One": {f"a{number}": FILM for number in range(5)},
        "^Two": {f"b{number}": PERSON for number in range(5)},
        "": {f"q{number}": NOISE for number in range(5)},
    }
    other = {"next_thought": thoughts("One.", "Two.", "So the answer is: x."), "answer_step_by_step": read}
    run, script = go("ircot", other, retriever=FixedRetriever(found=found), max_passages=7)
    assert [len(titles(prompt)) for prompt in script.prompts] == [5, 7, 7, 7]
    assert len(run.result["passages"]) == 15


def test_itrg_searches_for_the_question_alone_then_with_its_document_and_reads_both() -> None:
    run, script = go("itrg", mode="refine")
    assert queries_of(run) == [QUESTION, f"{QUESTION} {DIRECTED}", f"{QUESTION} {DIRECTED} {BORN}"]
    assert [titles(prompt) for prompt in script.prompts] == [
        ["Harbour", "Night Harbour"],
        ["Ada Brink"],  # Night Harbour was found in the round before
        ["Night Harbour", "Ada Brink", "Model knowledge"],
    ]
    assert f"<document>\n{DIRECTED}\n</document>" in script.prompts[1]
    assert f"{DIRECTED} {BORN}" in script.prompts[2]


def test_itrg_writes_its_document_again_from_all_passages_of_the_round() -> None:
    run, script = go("itrg", iterations=1)
    assert [titles(prompt) for prompt in script.prompts[:2]] == [
        ["Harbour", "Night Harbour"],
        ["Night Harbour", "Ada Brink"],
    ]
    assert all("<document>" not in prompt for prompt in script.prompts)
    assert run.result["usage"]["iterations"] == 2


@pytest.mark.parametrize(("mode", "rounds"), [("refine", 5), ("refresh", 5), ("refresh", 2)])
def test_itrg_takes_two_calls_more_than_rounds(mode: str, rounds: int) -> None:
    """As the paper's pipeline, where every round finds something new and changes the document."""
    numbers = iter(range(99))
    found = {f" {number}$": {f"p{number}": (f"P{number}", "text")} for number in range(9)} | {"": FOUND[""]}
    other = {"rewrite_passage": lambda _: json.dumps({"passage": str(next(numbers))})}
    run, _ = go("itrg", other, mode=mode, iterations=rounds, retriever=FixedRetriever(found=found))
    usage = run.result["usage"]
    assert (usage["llm_calls"], usage["retrievals"], usage["iterations"]) == (rounds + 2, rounds + 1, rounds + 1)


def test_itrg_cites_its_document_as_the_models_own() -> None:
    run, _ = go("itrg", {"answer": lambda _: json.dumps({"answer": "Tallinn", "used_passages": [3]})})
    assert [(each["passage_id"], each["kind"]) for each in run.result["citations"]] == [("model:3", "model")]
