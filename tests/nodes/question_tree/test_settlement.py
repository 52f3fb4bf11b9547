"""A settled question, and what becomes of the run."""

from typing import Any

import pytest
from langgraph.types import Overwrite

from hopgraph.nodes.question_tree.settlement import (
    evidence_under,
    format_sub_answers,
    rest_on_evidence,
    settle,
    settle_root,
)
from hopgraph.state import Context
from support.node_inputs import draft, evidence, node_runtime, question_node


def test_an_unanswered_question_rests_on_nothing() -> None:
    tree = {"0": question_node("0", status="unknown", passage_ids=["p"])}
    assert evidence_under(tree, "0") == []


def test_a_settled_question_is_answered_or_unknown() -> None:
    events: list[Any] = []
    runtime = node_runtime(Context(), events)
    node = question_node("0.1", status="split")
    reading = draft("Ada", "because", evidence(1, "s", "a", "b"))
    update = settle(runtime, node, "composed", reading=reading)
    assert update["tree"]["0.1"] == {
        **node,
        "status": "answered",
        "answer": "Ada",
        "how": "composed",
        "explanation": "because",
        "passage_ids": ["a", "b"],
    }
    assert settle(runtime, node, "depth") == {
        "tree": {"0.1": {**node, "status": "unknown", "how": "depth"}},
        "evidence": [],
    }
    assert [event["event"] for event in events] == ["solved", "solved"]


@pytest.mark.parametrize(
    ("root", "part", "limit", "reason"),
    [
        ({"answer": "Ada", "how": "composed"}, {"how": "known"}, None, "answered"),
        ({"answer": "Ada", "how": "composed"}, {"how": "budget"}, None, "budget"),
        ({"answer": "Ada", "how": "composed"}, {"how": "questions"}, None, "budget"),
        ({"answer": "Ada", "how": "composed"}, {"how": "known"}, "max_iterations", "max_iterations"),
        ({"how": "unsolved"}, {"how": "depth"}, None, "max_depth"),
        ({"how": "unsolved"}, {"how": "unsolved"}, None, "unanswerable"),
    ],
)
def test_why_a_run_ends(root: Any, part: Any, limit: Any, reason: str) -> None:
    tree = {"0": question_node("0", **root), "0.1": question_node("0.1", **part)}
    assert settle_root(tree, ["0"], limit=limit)["stop_reason"] == reason


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
