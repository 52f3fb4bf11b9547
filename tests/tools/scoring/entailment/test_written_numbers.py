import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.scoring.entailment.lexical import numbers_in


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,234,567.5 people", {"1234567.5"}),
        ("the 3rd and nine", {"3", "9"}),
        ("1990\u20131995, 3-10 and 10:30", {"1990", "1995", "3", "10", "30"}),
        ("one of the first, a second time", set[str]()),
        ("born 22 February 1981", {"22", "1981"}),
        ("the 1980s, the 1970 's and the 50's", {"1980s", "1970s", "50s"}),
        ("B2 and x86", set[str]()),
        ("9" * 40, {"9" * 40}),
    ],
)
def test_numbers(text: str, numbers: set[str]) -> None:
    assert numbers_in(text)[0] == numbers


@given(st.text())
def test_any_text_can_be_read_and_supports_its_own_numbers(text: str) -> None:
    named, supported = numbers_in(text)
    assert named <= supported
