"""What a person may send back to a pause, and what is refused."""

from typing import Any

import pytest

from hopgraph.nodes.core.human_review import (
    MOST_QUERIES,
    Item,
    UnusableError,
    read_decision,
    read_evidence,
    read_queries,
)

STATEMENT = Item("1.1.1", "Cats purr.", ["Cat"], editable=True)
PASSAGE = Item("p", "Lima is a city.", ["Lima"], editable=False)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("approve", ("approve", [])),
        (" Accept ", ("approve", [])),
        (True, ("approve", [])),
        (False, ("reject", [])),
        ({"action": "no"}, ("reject", [])),
        (["a"], ("edit", ["a"])),
        ([], ("reject", [])),
        ({"action": "edit", "queries": ["a"]}, ("edit", ["a"])),
        ({"action": "edit", "queries": []}, ("reject", [])),
        ({"action": "approve", "queries": ["a"]}, ("approve", [])),
    ],
)
def test_a_decision_is_a_word_a_list_or_both(given: object, expected: tuple[str, list[object]]) -> None:
    assert read_decision(given, "queries") == expected


@pytest.mark.parametrize("given", ["perhaps", None, 1, {}, {"action": "edit"}, {"action": "edit", "queries": "a"}])
def test_another_decision_is_refused(given: object) -> None:
    with pytest.raises(UnusableError):
        read_decision(given, "queries")


def test_queries_are_texts_each_once() -> None:
    assert read_queries([" a\n b ", {"text": "c"}, "a b"]) == ["a b", "c"]


@pytest.mark.parametrize(
    "given", [[""], [{"text": 1}], [None], ["x" * 20_000], [str(number) for number in range(MOST_QUERIES + 1)]]
)
def test_unusable_queries_are_refused(given: list[object]) -> None:
    with pytest.raises(UnusableError):
        read_queries(given)


def test_a_statement_can_be_changed_and_a_passage_left_out() -> None:
    items = [STATEMENT, PASSAGE]
    assert read_evidence([{"id": "1.1.1", "text": " Cats  purr softly. "}], items) == {"1.1.1": "Cats  purr softly."}
    assert read_evidence(["p", {"id": "1.1.1"}], items) == {"p": "Lima is a city.", "1.1.1": "Cats purr."}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("other", "no evidence has the id 'other'"),
        ({"text": "Cats purr."}, "no evidence has the id None"),
        ({"id": "1.1.1", "text": " "}, "must be 1 to"),
        ({"id": "1.1.1", "text": 7}, "must be 1 to"),
        ({"id": "p", "text": "Lima is a village."}, "its text cannot be changed"),
    ],
)
def test_unusable_evidence_is_refused(entry: Any, problem: str) -> None:
    with pytest.raises(UnusableError, match=problem):
        read_evidence([entry], [STATEMENT, PASSAGE])
