"""DSP: what is searched hop by hop, how rankings are fused, and what its preset leaves of it."""

import json

import pytest

from support.baselines_script import FILM, METHODS, NOISE, PERSON, QUESTION, go, queries_of, sampled, titles
from support.walks import FixedRetriever


def queries(*texts: str) -> list[str]:
    return [json.dumps({"rationale": f"why {text}", "query": text}) for text in texts]


def test_each_hop_sees_the_passages_of_the_one_before_and_replaces_them() -> None:
    run, script = go("dsp")
    assert queries_of(run) == ["Night Harbour director", QUESTION, "Ada Brink born", QUESTION]
    assert ["<passages>" in prompt for prompt in script.prompts] == [False] * 5 + [True] * 10
    assert titles(script.prompts[5]) == ["Harbour", "Night Harbour"]
    assert titles(script.prompts[-1]) == ["Reason for the search", "Night Harbour", "Ada Brink", "Harbour"]
    assert "Ada Brink born is needed." in script.prompts[-1]
    assert run.result["usage"]["iterations"] == 2
    whys = [dict(event["data"])["why"] for event in run.events if event["event"] == "query"]
    assert whys == ["Night Harbour director is needed.", "", "Ada Brink born is needed.", ""]


def test_the_reason_for_a_search_is_cited_as_the_models_own() -> None:
    said = json.dumps({"reasoning": "It is needed.", "answer": "Tallinn", "used_passages": [1, 2]})
    run, _ = go("dsp", {"answer_step_by_step": lambda _: said})
    assert [each["kind"] for each in run.result["citations"]] == ["model", "passage"]


def test_scores_are_summed_over_the_samples_of_every_query() -> None:
    found: dict[str, dict[str, tuple[str, str]]] = {
        "^a": {"noise": NOISE, "film": FILM},
        "^b": {"person": PERSON, "film": FILM},
    }
    said = queries("a", "b", "a", "b ", "b")
    run, script = go("dsp", {"write_query": said}, retriever=FixedRetriever(found=found), max_hops=1)
    [kept] = run.state["knowledge"]
    scores = {each["passage_id"]: each["score"] for each in kept["excerpts"]}
    assert scores == {"person": 3.0, "film": 2.5, "noise": 2.0}  # of b thrice, of both, of a twice
    assert list(scores) == ["person", "film", "noise"]
    assert (queries_of(run), run.state["sampled"]) == (["a", "b", QUESTION], {"a": 2, "b": 3})
    assert titles(script.prompts[-1]) == ["Ada Brink", "Night Harbour", "Harbour"]


@pytest.mark.parametrize(("count", "fetched"), [(1, 2), (2, 6)])
def test_each_of_several_queries_gets_three_times_what_a_hop_keeps(count: int, fetched: int) -> None:
    pool: dict[str, dict[str, tuple[str, str]]] = {
        "": {f"p{number}": (f"Title {number}", "Text.") for number in range(9)}
    }
    run, _ = go("dsp", retriever=FixedRetriever(found=pool), max_hops=1, queries_per_hop=count, top_k=2, samples=1)
    found, *_ = [dict(event["data"])["passage_ids"] for event in run.events if event["event"] == "retrieved"]
    assert (found, [each["id"] for each in run.result["passages"]]) == ([f"p{n}" for n in range(fetched)], ["p0", "p1"])


def test_without_a_usable_query_the_question_is_searched_for() -> None:
    run, script = go("dsp", {"write_query": lambda _: '{"query": " "}'})
    assert queries_of(run) == [QUESTION, QUESTION]
    assert script.steps == ["write_query"] * 10 + ["answer_step_by_step"] * 5


def test_the_majority_answers() -> None:
    run, _ = go("dsp", {"answer_step_by_step": sampled("Riga", "Tallinn", "Narva", "tallinn", "Riga.")})
    assert run.result["answer"] == "Riga"


def test_the_preset_of_dspy_takes_three_calls() -> None:
    run, script = go("dsp", **METHODS["dsp"].Context.presets["dspy"])
    assert script.steps == ["write_query", "write_query", "answer_step_by_step"]
    assert queries_of(run) == ["Night Harbour director", "Ada Brink born"]
    assert titles(script.prompts[-1]) == ["Harbour", "Night Harbour", "Ada Brink"]
    assert run.result["answer"] == "Tallinn"


def test_the_budget_leaves_an_answer_from_what_the_question_finds() -> None:
    run, script = go("dsp", max_llm_calls=1)
    assert (script.steps, queries_of(run)) == (["answer_step_by_step"], [QUESTION, QUESTION])
    assert run.result["stop_reason"] == "budget"
