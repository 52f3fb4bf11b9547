"""A question is checked before anything is spent."""

import pytest

from hopgraph.nodes.prepare import checked_question
from hopgraph.state import QuestionError


def test_a_question_is_cleaned_or_refused() -> None:
    assert checked_question("  Who\u202e?\r\n ") == "Who?"
    for wrong in ("", "\u200b \n", "x" * 10_001, 7):
        with pytest.raises(QuestionError) as caught:
            checked_question(wrong)  # pyright: ignore[reportArgumentType] - as a server's client might
        assert "\n" not in str(caught.value)
