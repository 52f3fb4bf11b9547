"""References of parts to earlier answers, as models write them."""

from typing import Any

import pytest

from hopgraph.nodes.question_tree import (
    describe,
    fill_references,
    parts_waited_for,
    referred_numbers,
    with_answers,
)
from support.node_inputs import question_node


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Where was #1 born?", "Where was Ada born?"),
        ("Where was [#1] born, and # 2?", "Where was Ada born, and Lima?"),
        ("Where was the answer to #1 born?", "Where was Ada born?"),
        ("Is #1's home {#2}?", "Is Ada's home Lima?"),
        ("Who led #3, #10 or #1st?", "Who led #3, #10 or #1st?"),
        ("Number 1 in C# 5?", "Number 1 in C# 5?"),
    ],
)
def test_names_take_the_places_of_references(text: str, filled: str) -> None:
    assert fill_references(text, {1: "Ada", 2: "Lima"}) == filled


def test_an_answer_that_looks_like_a_reference_is_left_alone() -> None:
    assert fill_references("#1 and #2", {1: "#2", 2: r"\1"}) == r"#2 and \1"


@pytest.mark.parametrize(
    ("text", "whole", "numbers"),
    [
        ("Was #1 the father of #2?", "Whose?", {1, 2}),
        ("Where was #3 born?", "Whose?", set()),
        ("Where was #7 born, #0?", "Whose?", set()),
        ("Who sang it when it was #1?", "Who sang the song that was #1 in 1964?", set()),
    ],
)
def test_only_earlier_parts_are_referred_to(text: str, whole: str, numbers: set[int]) -> None:
    assert referred_numbers(text, before=3, whole=whole) == numbers


def test_a_question_waits_for_the_parts_beside_it_that_it_names() -> None:
    nodes = [question_node(key, question=text) for key, text in TREE.items()]
    tree = {node["id"]: node for node in nodes}
    assert [node["id"] for node in parts_waited_for(tree, tree["0.3"]).values()] == ["0.1"]
    for alone in ("0", "0.1", "0.2.1"):
        assert parts_waited_for(tree, tree[alone]) == {}


TREE = {"0": "Whose home?", "0.1": "Who?", "0.2": "When?", "0.2.1": "Where was #1?", "0.3": "Where was #1?"}


@pytest.mark.parametrize(
    ("part", "question"),
    [({"answer": "Ada"}, "Where was Ada?"), ({}, "Where was “question 0.1”?"), ({"answer": "a" * 20_000}, None)],
)
def test_a_question_opens_with_the_answers_in_it(part: dict[str, Any], question: str | None) -> None:
    waiting = question_node("0.3", question="Where was #1?", status="waiting")
    opened = with_answers(waiting, {1: question_node("0.1", **part)})
    assert opened["status"] == "open"
    assert opened["question"] == question or (question is None and len(opened["question"]) == 10_000)


def test_an_unknown_answer_is_described_by_its_question() -> None:
    assert describe("Who directed Night Harbour? ") == "“Who directed Night Harbour”"
