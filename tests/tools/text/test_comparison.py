"""Comparison of texts: as answers, by their terms, and the sentence that supports a statement."""

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.text import contains, split_sentences
from hopgraph.tools.text.comparison import MAX_QUOTE, find_quote, lexical_similarity

QUESTION = "Who wrote “The Café's Last Guest”?"


@pytest.mark.parametrize(
    "text",
    [
        QUESTION,
        "Q: WHO WROTE\nthe café's  last guest. A: Nobody.",
        unicodedata.normalize("NFD", f"Trivia ({QUESTION.lower()})"),
        f"C++ or C#? {QUESTION}",
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
        ("It is in C++.", "C#"),
        ("It is in C#.", "C"),
        ("\u0915\u0940", "\u0915\u093f"),
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


TEXT = "Ed Wood is a film of 1994. It was directed by Tim Burton. Burton was born in 1958. It was a film."
words = st.sampled_from(["Tim", "Burton", "film.", "the", "1994", "It", "x" * 150, "\n\n", "é"])
texts = st.one_of(st.text(), st.lists(words, max_size=40).map(" ".join))


@pytest.mark.parametrize(
    ("statement", "quote"),
    [
        ("Tim Burton directed Ed Wood.", "It was directed by Tim Burton."),
        ("a film from 1994", "Ed Wood is a film of 1994."),
        ("In 1958 a film director was born.", "Burton was born in 1958."),
        ("a film", "Ed Wood is a film of 1994."),  # the first of equals
        ("nothing alike", "Ed Wood is a film of 1994."),
        ("", "Ed Wood is a film of 1994."),
    ],
)
def test_the_sentence_that_supports_best(statement: str, quote: str) -> None:
    start, end = find_quote(statement, TEXT)
    assert TEXT[start:end] == quote


def test_words_of_the_title_count_little() -> None:
    text = "Mary Anning was a collector. She found the skeleton in Lyme Regis."
    statement = "Mary Anning found a skeleton."
    start, end = find_quote(statement, text, "Mary Anning")
    assert text[start:end] == "She found the skeleton in Lyme Regis."
    assert find_quote(statement, text) == (0, 28)
    assert find_quote("Klaus Abel: the lens broke", "From: Klaus Abel\n\nThe lens broke.", "Lens") == (18, 33)
    assert find_quote("Changed in 2.4.1: timeouts", "2.4.1\n\nRequests have timeouts.", "Changes > 2.4.1") == (7, 30)


def test_a_long_sentence_is_cut_around_its_best_stretch_and_a_blank_text_has_none() -> None:
    text = f"{'alpha beta ' * 90}he was born on 22 February 1981 in Rome {'gamma delta ' * 90}."
    start, end = find_quote("Born in Rome in 1981.", text)
    assert end - start <= MAX_QUOTE
    assert "born on 22 February 1981 in Rome" in text[start:end]
    assert text[start - 1] == " "
    assert text[end] == " "

    assert find_quote("x", "x" * 1000) == (0, MAX_QUOTE)
    assert find_quote("Tim Burton", " \n\t") == (0, 0)


@given(texts, texts)
def test_a_quote_is_a_whole_sentence_or_a_cut_of_one(statement: str, text: str) -> None:
    start, end = find_quote(statement, text)
    assert 0 <= start <= end <= len(text)
    assert end - start <= MAX_QUOTE
    sentences = split_sentences(text)
    if sentences:
        holder = [(a, b) for a, b in sentences if a <= start < end <= b]
        assert len(holder) == 1
        assert holder[0] == (start, end) or holder[0][1] - holder[0][0] > MAX_QUOTE


def test_a_row_is_quoted_whole_however_long_it_is() -> None:
    row = f"| NP-440 | {'a very long remark ' * 40}| 12 bar |"
    text = f"| part | remark | pressure |\n|---|---|---|\n| NP-430 | none | 9 bar |\n{row}"
    start, end = find_quote("The pressure of NP-440 is 12 bar.", text)
    assert text[start:end] == row
