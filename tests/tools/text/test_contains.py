import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.text import contains

QUESTION = "Who wrote “The Café's Last Guest”?"


@pytest.mark.parametrize(
    "text",
    [
        QUESTION,
        "Q: WHO WROTE\nthe café's  last guest. A: Nobody.",
        unicodedata.normalize("NFD", f"Trivia ({QUESTION.lower()})"),
    ],
)
def test_case_punctuation_and_white_space_do_not_count(text: str) -> None:
    assert contains(text, QUESTION)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Ann wrote The Café's Last Guest.", QUESTION),
        ("who wrote the café", QUESTION),
        ("Somewho wrote it", "Who wrote it?"),
        ("Who wrote items", "Who wrote it?"),
        ("", "x"),
        ("anything", ""),
        ("anything?!", "?!"),
    ],
)
def test_other_texts_do_not_contain_it(text: str, part: str) -> None:
    assert not contains(text, part)


def test_writing_without_spaces_needs_no_word_boundaries() -> None:
    assert contains("问题一北京的首都在哪里答案", "北京的首都在哪里?")
    assert not contains("北京的首都", "北京的首都在哪里?")


@given(st.text(string.ascii_letters + " ", min_size=1), st.text(string.ascii_letters + " "))
def test_a_text_between_others_is_contained_if_it_has_words(part: str, around: str) -> None:
    assert contains(f"{around}. {part.upper()}! {around}", part) == bool(part.strip())
