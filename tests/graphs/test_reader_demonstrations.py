"""The worked examples of readers and of steps by turns: usable replies, which fit what they show."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from hopgraph.nodes.decide import Decision
from hopgraph.nodes.hops.next_step import Action, FollowUp, JointFollowUp
from hopgraph.nodes.next_thought import Thought
from hopgraph.nodes.reading import AnswerReply, DirectAnswer
from hopgraph.tools.models import parse_reply
from hopgraph.tools.prompts import FAMILIES, read_demonstrations, render
from support.sample import read_sample_passages

PASSAGES = [{"title": "T", "text": "A text."}]
ROLES: dict[str, type[BaseModel]] = {
    "one_step/answer": DirectAnswer,
    "cot/answer_step_by_step": AnswerReply,
    "react/act": Action,
    "self_ask/follow_up": FollowUp,
    "self_ask/follow_up_jointly": JointFollowUp,
    "ircot/next_thought": Thought,
    "migres/final_answer": Decision,
}
EVERY = [(role, family) for role in ROLES for family in FAMILIES if read_demonstrations(role, family)]


def test_each_step_has_some_for_the_families_that_use_it() -> None:
    found = {(role.split("/")[1], family) for role, family in EVERY}
    every_family = {(step, family) for step in ("answer", "final_answer") for family in FAMILIES}
    in_turns = {"answer_step_by_step", "act", "follow_up", "follow_up_jointly", "next_thought"}
    assert found == every_family | {(step, "multi_hop") for step in in_turns}


@pytest.mark.parametrize(("role", "family"), EVERY)
def test_replies_can_be_read_and_name_only_what_is_shown(role: str, family: str) -> None:
    for example in read_demonstrations(role, family):
        assert parse_reply(json.dumps(example.output), ROLES[role])
        shown: Any = example.input.get("passages", example.input.get("information", []))
        used: Any = example.output.get("used_passages", example.output.get("used_information", []))
        assert set(used) <= set(range(1, len(shown) + 1))
        assert ("answer_type" in example.input) == (family == "yes_no")


@pytest.mark.parametrize(("role", "family"), EVERY)
def test_none_is_about_the_sample_corpus(role: str, family: str) -> None:
    titles = {passage["title"] for passage in read_sample_passages()}
    for example in read_demonstrations(role, family):
        shown: Any = example.input.get("passages", [])
        assert not titles & {each["title"] for each in shown}


@pytest.mark.parametrize("role", ["one_step/answer", "cot/answer_step_by_step", "migres/final_answer"])
@pytest.mark.parametrize("family", FAMILIES)
def test_readers_are_shown_both_an_answer_and_how_to_have_none(role: str, family: str) -> None:
    if (role, family) not in EVERY:
        return
    outputs = [example.output for example in read_demonstrations(role, family)]
    said = [output["answer"]["text"] if isinstance(output["answer"], dict) else output["answer"] for output in outputs]
    assert "unanswerable" in said
    if family == "yes_no":
        assert {"yes", "no"} <= set(map(str, said))


@pytest.mark.parametrize(
    ("role", "given", "shots", "without_abstaining"),
    [
        ("one_step/answer", {"passages": PASSAGES}, 4, 3),
        ("direct/answer", {}, 3, 3),
        ("genground/answer", {"sub_answers": ["Who? Ada"]}, 4, 3),
        ("one_step_cot/answer_step_by_step", {"passages": PASSAGES}, 4, 3),
        ("cot/answer_step_by_step", {}, 3, 3),
        ("self_ask/follow_up_jointly", {"passages": [], "history": []}, 2, 2),
        ("self_ask/follow_up_jointly", {"passages": PASSAGES, "history": [], "follow_up": "Who?"}, 3, 3),
        ("react/act", {"passages": PASSAGES, "history": []}, 3, 3),
        ("self_ask/follow_up", {"history": []}, 3, 3),
        ("ircot/next_thought", {"passages": PASSAGES, "thoughts": []}, 3, 3),
        ("migres/final_answer", {"information": []}, 3, 2),
    ],
)
def test_those_are_shown_that_look_like_the_input(
    role: str, given: Mapping[str, Any], shots: int, without_abstaining: int
) -> None:
    for abstain, wanted in ((True, shots), (False, without_abstaining)):
        messages = render(role, {"question": "Q?", **given}, demonstrations="multi_hop", abstain=abstain)
        asked = [message.text for message in messages if message.type == "human"]
        assert len(asked) == wanted + 1
        assert len({"<sub_answers>" in each for each in asked}) == 1
        assert len({"<passages>" in each for each in asked}) == 1


def test_yes_and_no_are_no_example_where_something_else_is_asked_for() -> None:
    variables: dict[str, Any] = {"question": "Q?", "passages": PASSAGES}
    assert len(render("genground/answer", variables, demonstrations="yes_no")) == 2
    assert len(render("genground/answer", {**variables, "answer_type": "yes_no"}, demonstrations="yes_no")) == 8


def test_some_extraction_finds_nothing() -> None:
    for family in FAMILIES:
        found = [example.output["useful_information"] for example in read_demonstrations("migres/extract", family)]
        assert [] in found
        assert any(found)
