"""A tree of questions: its branches, sub-questions and references as models write them, and what a run rests on."""

from typing import Any

import pytest
from langgraph.types import Overwrite

from hopgraph.nodes.question_tree import (
    SubQuestions,
    decomposition_ask,
    describe,
    fill_references,
    format_sub_answers,
    parts_waited_for,
    read_sub_questions,
    referred_numbers,
    rest_on_evidence,
    settle_root,
    with_answers,
)
from hopgraph.nodes.solve_question import with_titles
from support.node_inputs import question_node


@pytest.mark.parametrize(
    ("reasoning", "named"),
    [
        (
            "Passage 1 says she was born in Tallinn (passage 3).",
            "“Ada” says she was born in Tallinn (“Night Harbour”).",
        ),
        ("According to passages 1 and 3, so [1].", "According to “Ada” and “Night Harbour”, so (“Ada”)."),
        ("It is so [1, 3].", "It is so (“Ada” and “Night Harbour”)."),
        ("Passage 2 and passage 9 state it.", "a passage and a passage state it."),
        ("[9] It has 2 rooms, of 1961, and 1 door.", "It has 2 rooms, of 1961, and 1 door."),
    ],
)
def test_a_reasoning_names_passages_by_their_titles(reasoning: str, named: str) -> None:
    assert with_titles(reasoning, ["Ada", "", "Night Harbour"]) == named


def reply(said: Any) -> SubQuestions:
    return SubQuestions.model_validate({"sub_questions": said})


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (["Who?", "Where?"], ["Who?", "Where?"]),
        ("1. Who?\n2) Where?\n\n- When?", ["Who?", "Where?", "When?"]),
        ([{"question": "Who?"}], ["Who?"]),
        (["Who?", "who", "  WHO ?! "], ["Who?"]),
        (["the whole?", "...", "", "x" * 20_000], []),
        (["3 men in which boat?", "(2) Who?"], ["3 men in which boat?", "Who?"]),
    ],
)
def test_sub_questions_are_read_as_models_write_them(said: Any, read: list[str]) -> None:
    assert read_sub_questions(reply(said), most=5, known=["The whole?"]) == read


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (["Who?", "Where was #1 born?"], ["Who?", "Where was #1 born?"]),
        ("1. Who?\n\n2. Where was [#1] born?", ["Who?", "Where was #1 born?"]),
        (["The whole?", "Who?", "Where was #2 born?"], ["Who?", "Where was #1 born?"]),  # the first was left out
        (["Who?", "who", "When did #1 meet #2?", "Why #3?"], ["Who?", "When did #1 meet #1?", "Why #2?"]),
        (["The whole?", "Where was #1 born?"], ["Where was “The whole” born?"]),
        (["Where was #1 born?", "Who is #2, #3 and #9?"], ["Where was #1 born?", "Who is #2, #3 and #9?"]),
    ],
)
def test_references_count_the_questions_that_are_returned(said: Any, read: list[str]) -> None:
    assert read_sub_questions(reply(said), most=5, known=["The whole?"]) == read


def test_only_so_many_sub_questions_are_taken() -> None:
    assert read_sub_questions(reply(["a", "b", "c"]), most=2) == ["a", "b"]
    assert decomposition_ask("q", most=2).variables == {"question": "q", "max_sub_questions": 2}
    assert decomposition_ask("q", most=2).fallback.sub_questions == []


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Where was #1 born?", "Where was Ada born?"),
        ("Where was [#1] born, and # 2?", "Where was Ada born, and Lima?"),
        ("Where was the answer to #1 born?", "Where was Ada born?"),
        ("Is #1's home {#2}?", "Is Ada's home Lima?"),
        ("Who led #3, #10 or #1st?", "Who led #3, #10 or #1st?"),
        ("Number 1 in C# 5?", "Number 1 in C# 5?"),
    ],
)
def test_names_take_the_places_of_references(text: str, filled: str) -> None:
    assert fill_references(text, {1: "Ada", 2: "Lima"}) == filled


def test_an_answer_that_looks_like_a_reference_is_left_alone() -> None:
    assert fill_references("#1 and #2", {1: "#2", 2: r"\1"}) == r"#2 and \1"


@pytest.mark.parametrize(
    ("text", "whole", "numbers"),
    [
        ("Was #1 the father of #2?", "Whose?", {1, 2}),
        ("Where was #3 born?", "Whose?", set()),
        ("Where was #7 born, #0?", "Whose?", set()),
        ("Who sang it when it was #1?", "Who sang the song that was #1 in 1964?", set()),
    ],
)
def test_only_earlier_parts_are_referred_to(text: str, whole: str, numbers: set[int]) -> None:
    assert referred_numbers(text, before=3, whole=whole) == numbers


def test_a_question_waits_for_the_parts_beside_it_that_it_names() -> None:
    nodes = [question_node(key, question=text) for key, text in TREE.items()]
    tree = {node["id"]: node for node in nodes}
    assert [node["id"] for node in parts_waited_for(tree, tree["0.3"]).values()] == ["0.1"]
    for alone in ("0", "0.1", "0.2.1"):
        assert parts_waited_for(tree, tree[alone]) == {}


TREE = {"0": "Whose home?", "0.1": "Who?", "0.2": "When?", "0.2.1": "Where was #1?", "0.3": "Where was #1?"}


@pytest.mark.parametrize(
    ("part", "question"),
    [({"answer": "Ada"}, "Where was Ada?"), ({}, "Where was “question 0.1”?"), ({"answer": "a" * 20_000}, None)],
)
def test_a_question_opens_with_the_answers_in_it(part: dict[str, Any], question: str | None) -> None:
    waiting = question_node("0.3", question="Where was #1?", status="waiting")
    opened = with_answers(waiting, {1: question_node("0.1", **part)})
    assert opened["status"] == "open"
    assert opened["question"] == question or (question is None and len(opened["question"]) == 10_000)


def test_an_unknown_answer_is_described_by_its_question() -> None:
    assert describe("Who directed Night Harbour? ") == "“Who directed Night Harbour”"


def test_answered_parts_explain_an_answer_without_a_reason() -> None:
    tree = {
        "0": question_node("0", answer="Ada", how="composed"),
        "0.1": question_node("0.1", answer="Lima", how="known"),
        "0.2": question_node("0.2", how="unsolved"),
    }
    assert settle_root(tree, ["0.1"])["explanation"] == "question 0.1? Lima"
    tree["0"]["explanation"] = "said so"
    assert settle_root(tree, ["0.1"])["explanation"] == "said so"
    assert format_sub_answers([tree["0.2"]]) == ["question 0.2? unknown"]
    tree["0.1"]["explanation"] = "It\nis so."
    assert format_sub_answers([tree["0.1"]]) == ["question 0.1? Lima (because: It is so.)"]


def test_an_answer_that_rests_on_nothing_clears_the_evidence() -> None:
    assert rest_on_evidence(["0"]) == {"used": ["0"]}
    assert isinstance(rest_on_evidence([])["evidence"], Overwrite)
    unanswered = settle_root({"0": question_node("0", how="unsolved")}, ["0.1"])
    assert unanswered["used"] == []


def test_a_part_that_was_not_asked_is_no_sub_answer() -> None:
    parts = [
        question_node("0.1", question="Who directed it?", status="unknown", how="unsolved"),
        question_node("0.2", question="Where was #1 born?", status="unknown", how="unsolved"),
        question_node("0.3", question="Which song was #1 in 1964?", status="unknown", how="unsolved"),
    ]
    told = format_sub_answers(parts, "Who sang what was #1 in 1964?")
    assert told == ["Who directed it? unknown", "Where was #1 born? unknown", "Which song was #1 in 1964? unknown"]
    assert format_sub_answers(parts[:2], "Where was its director born?") == ["Who directed it? unknown"]
