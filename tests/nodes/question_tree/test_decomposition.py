"""Sub-questions, as models write them."""

from typing import Any

import pytest

from hopgraph.nodes.question_tree import SubQuestions, decomposition_ask, read_sub_questions


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


def test_parts_may_refer_to_one_another_where_they_are_answered_in_order() -> None:
    assert decomposition_ask("q", most=2, in_order=True).variables["part_order"] == "in_order"


def test_only_so_many_sub_questions_are_taken() -> None:
    assert read_sub_questions(reply(["a", "b", "c"]), most=2) == ["a", "b"]
    assert decomposition_ask("q", most=2).variables == {"question": "q", "max_sub_questions": 2}
    assert decomposition_ask("q", most=2).fallback.sub_questions == []
