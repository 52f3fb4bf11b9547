"""A question is checked before anything is spent."""

from typing import Any

import pytest

from hopgraph.graphs import migres
from hopgraph.nodes.prepare import checked_question
from hopgraph.state import QuestionError


def test_a_question_is_cleaned_or_refused() -> None:
    assert checked_question("  Who\u202e?\r\n ") == "Who?"
    for wrong in ("", "\u200b \n", "x" * 10_001, 7):
        with pytest.raises(QuestionError) as caught:
            checked_question(wrong)  # pyright: ignore[reportArgumentType] - as a server's client might
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [{}, {"query": "Who?"}])
def test_an_input_without_a_question_is_told_apart_from_an_empty_one(given: Any) -> None:
    with pytest.raises(QuestionError, match="no 'question'"):
        migres.graph.invoke(given)
    with pytest.raises(QuestionError, match="is empty"):
        migres.graph.invoke(given | {"question": " "})
