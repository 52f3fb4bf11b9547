"""Sub-questions, as models write them."""

from typing import Any

import pytest

from hopgraph.nodes.core.ask import AskResult
from hopgraph.nodes.core.budget import reserved_call
from hopgraph.nodes.question_tree.decomposition import SubQuestions, decomposition_ask, read_sub_questions


def answered(said: Any) -> AskResult[SubQuestions]:
    return AskResult(SubQuestions.model_validate({"sub_questions": said}), "replied", "id", reserved_call())


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
    assert read_sub_questions(answered(said), most=5, known=["The whole?"]) == read


def test_only_so_many_sub_questions_are_taken() -> None:
    assert read_sub_questions(answered(["a", "b", "c"]), most=2) == ["a", "b"]
    assert decomposition_ask("q", most=2).variables == {"question": "q", "max_sub_questions": 2}
    assert decomposition_ask("q", most=2).fallback.sub_questions == []
