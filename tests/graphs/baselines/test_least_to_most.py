"""Least-to-most end to end: parts in order, each with the answers before it."""

import json
from typing import Any

import pytest

from hopgraph.graphs.baselines import least_to_most
from support.walks import FixedRetriever, Script, Walk, drawn_edges, walk

QUESTION = "Where was the director of the film Night Harbour born?"
FILM, PERSON = "Who directed the film Night Harbour?", "Where was the director born?"
CORPUS = {
    "film": ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink."),
    "person": ("Ada Brink", "Ada Brink was a director. She was born in Tallinn."),
}


def said(answer: str, *used: int) -> str:
    return json.dumps({"answer": answer, "used_passages": list(used)})


def parts(*questions: str) -> str:
    return json.dumps({"sub_questions": list(questions)})


def two_parts() -> Script:
    return Script(
        {"decompose": [parts(FILM, PERSON)], "answer": [said("Ada Brink", 1), said("Tallinn", 2), said("Tallinn")]}
    )


def run(script: Script, **more: Any) -> Walk:
    given: dict[str, Any] = {"model": script.model(), "retriever": FixedRetriever(found={"": CORPUS}), **more}
    return walk(least_to_most.graph, {"question": QUESTION}, least_to_most.Context(**given))


def test_parts_are_answered_in_order_and_then_the_question() -> None:
    script = two_parts()
    walked = run(script)
    assert script.steps == ["decompose", "answer", "answer", "answer"]
    first, second, last = script.prompts[1:]
    assert FILM in first
    assert "<sub_answers>" not in first
    assert f'<item id="1">{FILM} Ada Brink</item>' in second
    assert f'<item id="2">{PERSON} Tallinn</item>' in last
    assert QUESTION in last
    result = walked.result
    assert (result["answer"], result["stop_reason"]) == ("Tallinn", "answered")
    assert result["explanation"] == f"{FILM} Ada Brink; {PERSON} Tallinn; {QUESTION} Tallinn"
    assert (result["citations"], result["passages"]) == ([], [])
    assert (result["usage"]["llm_calls"], result["usage"]["retrievals"], result["usage"]["iterations"]) == (4, 0, 3)
    assert [hop["question"] for hop in walked.state["hops"]] == [FILM, PERSON, QUESTION]


def test_with_retrieval_each_question_looks_up_its_passages_with_the_answers_so_far() -> None:
    script = two_parts()
    walked = run(script, retrieval=True)
    asked = [event["data"]["query"] for event in walked.events if event["event"] == "query"]
    assert asked == [FILM, f"{PERSON} Ada Brink", f"{QUESTION} Ada Brink Tallinn"]
    assert all("<passages>" in prompt for prompt in script.prompts[1:])
    result = walked.result
    assert [(each["passage_id"], each["quote"]) for each in result["citations"]] == [
        ("film", "It was directed by Ada Brink."),
        ("person", "She was born in Tallinn."),
    ]
    assert (result["usage"]["llm_calls"], result["usage"]["retrievals"]) == (4, 3)


def test_a_question_that_cannot_be_made_simpler_is_answered_as_it_is() -> None:
    script = Script({"decompose": [parts(QUESTION)], "answer": [said("Tallinn")]})
    result = run(script).result
    assert (result["answer"], result["stop_reason"], result["usage"]["llm_calls"]) == ("Tallinn", "answered", 2)


def test_parts_without_an_answer_are_shown_as_unknown() -> None:
    script = Script({"decompose": [parts(FILM, PERSON)], "answer": [said("unanswerable"), said("Tallinn"), said("x")]})
    result = run(script).result
    assert f"{FILM} unknown" in script.prompts[2]
    assert (result["answer"], result["explanation"]) == ("x", f"{PERSON} Tallinn; {QUESTION} x")


@pytest.mark.parametrize("step", ["decompose", "answer"])
def test_malformed_replies_take_the_declared_way_and_are_counted(step: str) -> None:
    replies: dict[str, Any] = {
        "decompose": [parts(FILM)],
        "answer": lambda _prompt: said("Tallinn"),
        step: ["I will not."] * 9,
    }
    result = run(Script(replies), parse_retries=1).result
    assert result["usage"]["parse_failures"] == (2 if step == "decompose" else 4)
    assert (result["answer"], result["stop_reason"]) == (
        ("Tallinn", "answered") if step == "decompose" else ("", "unanswerable")
    )


def test_every_edge_of_the_drawing_is_walked() -> None:
    walked = run(two_parts()).edges | run(two_parts(), retrieval=True).edges | run(two_parts(), max_llm_calls=2).edges
    assert walked == drawn_edges(least_to_most.graph)
