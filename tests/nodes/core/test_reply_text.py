"""Short answers, refusals and passage numbers, as models write them."""

import pytest

from hopgraph.nodes.core.reply_text import is_dont_know, read_numbers, short_answer


@pytest.mark.parametrize(
    "text",
    ["", " . ", "I don't know.", "I don\u2019t know", "I do not know that.", "Unknown", "Sorry, I don't have that."],
)
def test_not_knowing_is_understood(text: str) -> None:
    assert is_dont_know(text)


@pytest.mark.parametrize("text", ["Lima is in Peru.", "Unknown Pleasures is an album.", "I think it is Lima."])
def test_knowing_is_understood(text: str) -> None:
    assert not is_dont_know(text)


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        (3, [3]),
        ("3", [3]),
        ("[12]", [12]),
        ("Passages 1 and 12", [1, 12]),
        ([1, "2", [3]], [1, 2, 3]),
        (2.0, [2]),
        (float("inf"), []),
        ([], []),
    ],
)
def test_passage_numbers_are_read_as_models_write_them(written: object, numbers: list[int]) -> None:
    assert read_numbers(written) == numbers


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Lima", "Lima"),
        (" Lima \n Peru ", "Lima Peru"),
        ("unanswerable", ""),
        ('"Unanswerable."', ""),
        ("**unanswerable**: no", ""),
        ("", ""),
    ],
)
def test_an_answer_is_one_line_or_nothing(said: str, answer: str) -> None:
    assert short_answer(said) == answer


@pytest.mark.parametrize(
    ("said", "answer"), [("Yes.", "yes"), ("NO, since …", "no"), ("true", "yes"), ("Nobody", ""), ("unanswerable", "")]
)
def test_a_yes_no_answer_is_yes_or_no_or_nothing(said: str, answer: str) -> None:
    assert short_answer(said, yes_no=True) == answer
