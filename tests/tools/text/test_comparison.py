"""Lexical similarity counts shared terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.text.comparison import lexical_similarity


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", 0.0),
        ("the of", "the of", 0.0),
        ("A harbour shelters ships.", "Ships are sheltered by a HARBOUR", 1.0),
        ("red green", "red blue", 0.5),
        ("red", "blue", 0.0),
        ("red red green", "red", 2 / 5**0.5),
    ],
)
def test_it_is_the_cosine_of_term_counts(first: str, second: str, expected: float) -> None:
    assert lexical_similarity(first, second) == pytest.approx(expected)


@given(st.text(max_size=60), st.text(max_size=60))
def test_it_is_symmetric_and_between_nothing_and_one(first: str, second: str) -> None:
    found = lexical_similarity(first, second)
    assert found == lexical_similarity(second, first)
    assert 0.0 <= found <= 1.0


@given(st.lists(st.sampled_from(["red", "green", "blue", "yellow", "brown", "purple", "orange"]), min_size=1))
def test_a_text_is_exactly_as_similar_to_itself_as_can_be(words: list[str]) -> None:
    assert lexical_similarity(" ".join(words), " ".join(words)) == 1.0
