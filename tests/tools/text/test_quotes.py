import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.comparison import LONGEST_QUOTE, find_quote

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


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_blank_text_has_no_quote(text: str) -> None:
    assert find_quote("Tim Burton", text) == (0, 0)


def test_a_long_sentence_is_cut_around_its_best_stretch() -> None:
    text = f"{'alpha beta ' * 90}he was born on 22 February 1981 in Rome {'gamma delta ' * 90}."
    start, end = find_quote("Born in Rome in 1981.", text)
    assert end - start <= LONGEST_QUOTE
    assert "born on 22 February 1981 in Rome" in text[start:end]
    assert text[start - 1] == " "
    assert text[end] == " "


def test_a_sentence_without_white_space_is_cut_hard() -> None:
    assert find_quote("x", "x" * 1000) == (0, LONGEST_QUOTE)


@given(texts, texts)
def test_a_quote_is_a_whole_sentence_or_a_cut_of_one(statement: str, text: str) -> None:
    start, end = find_quote(statement, text)
    assert 0 <= start <= end <= len(text)
    assert end - start <= LONGEST_QUOTE
    sentences = split_sentences(text)
    if sentences:
        holder = [(a, b) for a, b in sentences if a <= start < end <= b]
        assert len(holder) == 1
        assert holder[0] == (start, end) or holder[0][1] - holder[0][0] > LONGEST_QUOTE


def test_a_row_is_quoted_whole_however_long_it_is() -> None:
    row = f"| NP-440 | {'a very long remark ' * 40}| 12 bar |"
    text = f"| part | remark | pressure |\n|---|---|---|\n| NP-430 | none | 9 bar |\n{row}"
    start, end = find_quote("The pressure of NP-440 is 12 bar.", text)
    assert text[start:end] == row
