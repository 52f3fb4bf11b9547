"""VTG end to end: sentences that hold, cite anew, are looked up, written again or left out; every edge, budgets."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hopgraph.graphs.baselines import vtg
from support.baselines_script import BORN, FILM, FOUND_BY_NAME, PERSON, QUESTION, queries_of, titles
from support.walks import FixedRetriever, Script, Walk, drawn_edges, walk

FILM_IS = "Night Harbour is a 1961 film."
BORN_IN_OSLO = "Ada Brink was born in Oslo."


class ByWords:
    """An entailment checker: each of the statement's words must be in the premise."""

    name = "by-words"
    threshold = 0.5

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.pairs += pairs
        sets = [(set(re.findall(r"\w+", a)), set(re.findall(r"\w+", b))) for a, b in pairs]
        return [float(statement <= premise | {"was"}) for premise, statement in sets]


def said(sentence: str, *used: int) -> str:
    return json.dumps({"sentence": sentence, "used_passages": list(used)})


def write(prompt: str) -> str:
    """State what the passages have, from memory what they have not, and nothing when all is said."""
    sentences = prompt.split("<sentences>")[1].split("</sentences>")[0]
    facts = [(FILM_IS, "Night Harbour"), (BORN, "Ada Brink")]
    for fact, title in facts:
        if fact not in sentences:
            return said(fact, titles(prompt).index(title) + 1) if title in titles(prompt) else said(fact)
    return said("")


def replies(**other: Any) -> dict[str, Any]:
    decision = {"answer": {"text": "Tallinn", "confidence": 5}, "explanation": "", "used_information": [2, 9]}
    return {
        "next_sentence": write,
        "verifying_questions": lambda _: json.dumps({"queries": ["Where was Ada Brink born?"]}),
        "final_answer": lambda _: json.dumps(decision),
        **other,
    }


def go(other: Mapping[str, Any] | None = None, **more: Any) -> tuple[Walk, Script]:
    script = Script(replies(**(other or {})))
    usual = {"model": script.model(), "retriever": FixedRetriever(found=FOUND_BY_NAME), "entailment": ByWords()}
    given: dict[str, Any] = {**usual, **more}
    return walk(vtg.graph, {"question": QUESTION}, vtg.Context(**given)), script


def sentences(run: Walk) -> list[tuple[str, list[str]]]:
    return [(each["statement"], each["passage_ids"]) for each in run.state["evidence"]]


def test_sentences_follow_on_one_another_and_what_memory_lacks_is_looked_up() -> None:
    run, script = go()
    write_, ask = "next_sentence", "verifying_questions"
    assert script.steps == [write_, write_, ask, write_, "final_answer"]
    assert queries_of(run) == [QUESTION, "Where was Ada Brink born?"]
    assert sentences(run) == [(FILM_IS, ["film"]), (BORN, ["person"])]
    assert [titles(script.prompts[at]) for at in (0, 3)] == [
        ["Harbour", "Night Harbour"],
        ["Harbour", "Night Harbour", "Ada Brink"],
    ]
    result = run.result
    assert (result["answer"], result["stop_reason"], result["usage"]["llm_calls"]) == ("Tallinn", "answered", 5)
    assert [(each["passage_id"], each["quote"]) for each in result["citations"]] == [
        ("person", "She was born in Tallinn.")
    ]


@pytest.mark.parametrize(
    ("used", "cited"),
    [([2], ["film"]), ([1, 2], ["film"]), ([1], ["film"]), ([], ["film"]), ([9], ["film"])],
    ids=["right", "superfluous", "wrong", "none", "not shown"],
)
def test_citations_are_settled_from_memory(used: list[int], cited: list[str]) -> None:
    run, script = go({"next_sentence": [said(FILM_IS, *used), said("")]})
    assert sentences(run) == [(FILM_IS, cited)]
    assert "verifying_questions" not in script.steps


def test_two_passages_stay_cited_where_neither_does_alone() -> None:
    both: dict[str, dict[str, tuple[str, str]]] = {"": {"film": FILM, "person": PERSON}}
    checker, texts = ByWords(), {"next_sentence": [said("Tallinn, 1961.", 1, 2), said("")]}
    run, _ = go(texts, retriever=FixedRetriever(found=both), entailment=checker)
    assert [ids for _, ids in sentences(run)] == [["film", "person"]]
    assert len(checker.pairs) == 3  # memory is not asked


def test_a_sentence_without_support_is_written_again_then_left_out() -> None:
    wrong = [said(f"{BORN_IN_OSLO[:-1]} {number}.") for number in "abc"]
    run, script = go({"next_sentence": [*wrong, said(FILM_IS), said("")]})
    assert script.steps.count("verifying_questions") == 3
    assert sentences(run) == [(FILM_IS, ["film"])]
    assert [each["id"] for each in run.state["evidence"]] == ["2.1.1"]
    rejected = re.findall(r"<rejected>\n(.*?)\n</rejected>", script.prompts[-2], re.DOTALL)[0]
    assert [f"Oslo {number}" in rejected for number in "abc"] == [True] * 3


@pytest.mark.parametrize("other", [FILM_IS.upper(), " "])
def test_a_text_ends_with_a_repeated_or_an_empty_sentence(other: str) -> None:
    run, script = go({"next_sentence": [said(FILM_IS, 2), said(other)]})
    assert script.steps == ["next_sentence"] * 2 + ["final_answer"]
    assert run.result["stop_reason"] == "answered"


def test_a_text_ends_at_its_limit() -> None:
    run, script = go(max_sentences=1)
    assert script.steps == ["next_sentence", "final_answer"]
    assert (run.result["stop_reason"], run.state["drafts"]) == ("max_iterations", [])


def test_a_sentence_without_a_usable_question_is_its_own_query() -> None:
    run, _ = go({"verifying_questions": lambda _: "{}"}, parse_retries=0)
    assert queries_of(run) == [QUESTION, BORN]
    run, _ = go({"verifying_questions": lambda _: '{"queries": ["a", "b", "A?", "c"]}'}, max_queries=2, max_rewrites=0)
    assert queries_of(run)[1:3] == ["a", "b"]


def test_every_edge_of_the_drawing_is_walked() -> None:
    assert go()[0].edges | go(max_llm_calls=3)[0].edges == drawn_edges(vtg.graph)
