"""A settled question, and what becomes of the run."""

from langgraph.types import Overwrite

from hopgraph.nodes.question_tree import (
    format_sub_answers,
    rest_on_evidence,
    settle_root,
)
from support.node_inputs import question_node


def test_answered_parts_explain_an_answer_without_a_reason() -> None:
    tree = {
        "0": question_node("0", answer="Ada", how="composed"),
        "0.1": question_node("0.1", answer="Lima", how="known"),
        "0.2": question_node("0.2", how="unsolved"),
    }
    assert settle_root(tree, ["0.1"])["explanation"] == "question 0.1? Lima"
    tree["0"]["explanation"] = "said so"
    assert settle_root(tree, ["0.1"])["explanation"] == "said so"
    assert format_sub_answers([tree["0.2"]]) == ["question 0.2? unknown"]
    tree["0.1"]["explanation"] = "It\nis so."
    assert format_sub_answers([tree["0.1"]]) == ["question 0.1? Lima (because: It is so.)"]


def test_an_answer_that_rests_on_nothing_clears_the_evidence() -> None:
    assert rest_on_evidence(["0"]) == {"used": ["0"]}
    assert isinstance(rest_on_evidence([])["evidence"], Overwrite)
    unanswered = settle_root({"0": question_node("0", how="unsolved")}, ["0.1"])
    assert unanswered["used"] == []


def test_a_part_that_was_not_asked_is_no_sub_answer() -> None:
    parts = [
        question_node("0.1", question="Who directed it?", status="unknown", how="unsolved"),
        question_node("0.2", question="Where was #1 born?", status="unknown", how="unsolved"),
        question_node("0.3", question="Which song was #1 in 1964?", status="unknown", how="unsolved"),
    ]
    told = format_sub_answers(parts, "Who sang what was #1 in 1964?")
    assert told == ["Who directed it? unknown", "Where was #1 born? unknown", "Which song was #1 in 1964? unknown"]
    assert format_sub_answers(parts[:2], "Where was its director born?") == ["Who directed it? unknown"]
