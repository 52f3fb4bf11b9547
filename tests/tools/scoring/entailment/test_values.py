import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.scoring.entailment.values import Date, Values, read_values, union

MONTHS = ["January", "Feb.", "March", "Apr", "May", "June", "July", "August", "Sept.", "October", "November", "Dec"]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on 22 February 1981.", {Date(1981, 2, 22)}),
        ("on February 22, 1981", {Date(1981, 2, 22)}),
        ("the 22nd of Feb. 1981", {Date(1981, 2, 22)}),
        ("1981-02-22", {Date(1981, 2, 22)}),
        ("June 26th , 1980", {Date(1980, 6, 26)}),
        ("in May 2012 and on 4 July", {Date(2012, 5, None), Date(None, 7, 4)}),
        ("they may march on 12 people", set[Date]()),
        ("45 May 1990", {Date(1990, 5, None)}),
        ("1981-13-01", set[Date]()),
    ],
)
def test_dates(text: str, dates: set[Date]) -> None:
    assert read_values(text).dates == dates


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,234,567.50 people", {"1234567.5"}),
        ("1.5 million and two hundred", {"1500000", "200"}),
        ("twenty-one thousand", {"21000"}),
        ("the 3rd and the ninth", {"3", "9"}),
        ("in the 2018-19 season, 1990\u20131995", {"2018", "2019", "1990", "1995"}),
        ("3-10 and 10:30", {"3", "10", "30"}),
        ("one of the first, a second time", set[str]()),
        ("one million", {"1000000"}),
        ("born 22 February 1981", {"1981"}),
        ("B2 and x86", set[str]()),
        ("9" * 40, {"9" * 40}),
    ],
)
def test_numbers(text: str, numbers: set[str]) -> None:
    assert read_values(text).numbers == numbers


def test_decades() -> None:
    assert read_values("the 1980s, the 1970 's and the 50's").decades == {1980, 1970, 50}


@pytest.mark.parametrize(
    ("statement", "premise", "missing"),
    [
        ("22 February 1981", "February 22, 1981", False),
        ("22 February", "on February 22, 1981", False),
        ("in 1981", "on February 22, 1981", False),
        ("in February 1981", "on February 22, 1981", False),
        ("February 22, 1981", "in February 1981", True),
        ("22 February 1981", "23 February 1981", True),
        ("22 years", "on February 22, 1981", True),
        ("the 1980s", "in 1984", False),
        ("the 1980s", "in 1994", True),
        ("in 1984", "the 1980s", True),
        ("three films", "3 films", False),
        ("1 film", "one film", False),
        ("one film", "a film", False),
        ("2 films", "the second film", False),
        ("1,000 men", "1000 men", False),
        ("1.50", "1.5", False),
        ("two million", "2,000,000", False),
        ("4 films", "14 films", True),
    ],
)
def test_missing_values(statement: str, premise: str, missing: bool) -> None:
    assert read_values(statement).missing_from(read_values(premise)) is missing


@given(st.text())
def test_any_text_can_be_read_and_carries_its_own_values(text: str) -> None:
    values = read_values(text)
    assert not values.missing_from(values)
    assert not values.missing_from(union([values, read_values("7 May 1990")]))


@given(st.integers(1, 28), st.integers(1, 12), st.integers(1000, 2100))
def test_every_way_of_writing_a_date_gives_the_same_value(day: int, month: int, year: int) -> None:
    name = MONTHS[month - 1]
    ways = [
        f"{day} {name} {year}",
        f"{name} {day}, {year}",
        f"{day}th of {name}, {year}",
        f"{year}-{month:02}-{day:02}",
    ]
    assert {read_values(way) for way in ways} == {
        Values(frozenset({Date(year, month, day)}), frozenset({str(year)}), frozenset(), frozenset())
    }
