"""Short answers, refusals and passage numbers, as models write them."""

import pytest

from hopgraph.nodes.core.reply_text import is_dont_know, normalized_query, read_numbers, short_answer
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS

NOT_KNOWING = """
 .
I don't know.
I don\u2019t know
I do not know that.
Unknown
Sorry, I don't have that.
I don't have any information about St. Moritz. Please provide more context.
As an AI language model, I don't know that.
There is no information about it. Sorry.
""".splitlines()
KNOWING = """Lima is in Peru.
Unknown Pleasures is an album.
I think it is Lima.
I don't know who directed it, but it was filmed in Rome.
I do not know the year. It was filmed in Rome.""".splitlines()


@pytest.mark.parametrize(
    ("text", "unknown"), [*((each, True) for each in NOT_KNOWING), *((each, False) for each in KNOWING)]
)
def test_not_knowing_is_understood(text: str, unknown: bool) -> None:
    assert is_dont_know(text) is unknown


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


ABSTENTIONS = """
N/A
n/a.
Not enough information
Not enough information to answer the question.
Insufficient information
There is not enough information in the passages
No information is available
No information provided
Cannot be determined
It cannot be determined from the given information.
The answer can\u2019t be determined
Cannot determine
Unable to determine
It is impossible to say
Unknown
The answer is unknown.
noanswer
No answer.
Unknown. The passages do not say.
Unclear from the passages
Not mentioned in the passages
not specified
The answer is not given.
Not stated, as no passage names her
The passages do not say who directed it
The provided information does not mention it
The information is insufficient
Not answerable
not known
I don't know
I don\u2019t know who that was
I cannot answer that
Unanswerable based on the information
""".strip().splitlines()
NAMES = """
Not Given Lightly
Not Available (album)
Not Known Enough
Not Fade Away
No Answer
No Information Age
No Doubt
No
no one
None
Noted
not later than 1994
Unknown Pleasures
Unknown (2011 film)
unknown gunmen
The Unknown
Unclear Physics
Unanswerable Questions
Can't Find My Way Home
Can't Say No
Cannot Be Tamed
Don't Know Why
I Don't Know How to Love Him
Insufficient Funds
The Information
The Given Passage
Namibia
""".strip().splitlines()


@pytest.mark.parametrize("said", ABSTENTIONS)
def test_an_abstention_in_other_words_is_no_answer(said: str) -> None:
    assert (short_answer(said), short_answer(said, yes_no=True)) == ("", "")


@pytest.mark.parametrize("said", NAMES)
def test_an_answer_that_merely_begins_like_an_abstention_stays(said: str) -> None:
    assert short_answer(said) == said


@pytest.mark.parametrize(
    ("said", "answer"), [("Yes.", "yes"), ("NO, since …", "no"), ("true", "yes"), ("Nobody", ""), ("unanswerable", "")]
)
def test_a_yes_no_answer_is_yes_or_no_or_nothing(said: str, answer: str) -> None:
    assert short_answer(said, yes_no=True) == answer


def test_a_text_longer_than_a_question_may_be_is_no_answer() -> None:
    assert short_answer("a" * MAX_TEXT_CHARACTERS) == "a" * MAX_TEXT_CHARACTERS
    assert short_answer("a" * (MAX_TEXT_CHARACTERS + 1)) == ""


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Who made C#?", "who made c# ?", True),
        ("Who made C#?", "Who made C++?", False),
        ("Who made C#?", "Who made C?", False),
        ("What is new in 1.5?", "What is new in 15?", False),
        ("Who runs the caf\u00e9?", "Who runs the cafe", True),
        ("\u0915\u093f?", "\u0915\u0940?", False),
        ("?!", "\u2014", True),
    ],
)
def test_two_queries_are_one_but_for_case_accents_and_punctuation(first: str, second: str, same: bool) -> None:
    assert (normalized_query(first) == normalized_query(second)) is same
