"""Self-Ask end to end: follow-up questions with intermediate answers, every edge, malformed replies, budgets."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hopgraph.graphs.baselines import self_ask
from support.walks import FixedRetriever, Script, Walk, drawn_edges, walk

QUESTION = "Where was the director of the film Night Harbour born?"
DIRECTED, BORN = "Who directed the film Night Harbour?", "Where was Ada Brink born?"
FILM = ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink.")
PERSON = ("Ada Brink", "Ada Brink was a director. She was born in Tallinn.")
NOISE = ("Harbour", "A harbour shelters ships.")
FOUND: dict[str, dict[str, tuple[str, str]]] = {
    "Ada": {"noise": NOISE, "person": PERSON},
    "Nowhere": {},
    "": {"film": FILM, "noise": NOISE},
}


def follow(question: str = "", final: str = "") -> str:
    return json.dumps({"sub_question": question, "final_answer": final})


def answer(text: str, used: Sequence[int] = ()) -> str:
    return json.dumps({"answer": text, "used_passages": list(used)})


def go(replies: Mapping[str, Any], **more: Any) -> tuple[Walk, Script]:
    script = Script(replies)
    given: dict[str, Any] = {"model": script.model(), "retriever": FixedRetriever(found=FOUND), **more}
    return walk(self_ask.graph, {"question": QUESTION}, self_ask.Context(**given)), script


def two_questions() -> dict[str, Any]:
    return {
        "follow_up": [follow(DIRECTED), follow(BORN), follow(final="Tallinn")],
        "answer": [answer("Ada Brink", [1]), answer("Tallinn", [2, 5])],
    }


def test_each_follow_up_is_answered_before_the_next() -> None:
    run, script = go(two_questions())
    assert script.steps == ["follow_up", "answer", "follow_up", "answer", "follow_up"]
    assert [event["data"]["query"] for event in run.events if event["event"] == "query"] == [DIRECTED, BORN]
    assert "She was born in Tallinn." in script.prompts[3]
    assert "directed by" not in script.prompts[3]
    history = script.prompts[-1].split("</history>")[0]
    assert f"{DIRECTED} Ada Brink (source: It was directed by Ada Brink.)" in history
    assert f"{BORN} Tallinn (source: She was born in Tallinn.)" in history
    assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "answered")
    assert [(each["passage_id"], each["quote"]) for each in run.result["citations"]] == [
        ("film", "It was directed by Ada Brink."),
        ("person", "She was born in Tallinn."),
    ]
    usage = run.result["usage"]
    assert (usage["llm_calls"], usage["retrievals"], usage["iterations"]) == (5, 2, 2)


def test_a_follow_up_without_an_answer_is_unknown() -> None:
    replies = {
        "follow_up": [follow(DIRECTED), follow("Nowhere?"), follow(final="unanswerable")],
        "answer": [answer("unanswerable", [1])],
    }
    run, script = go(replies)
    assert script.steps == ["follow_up", "answer", "follow_up", "follow_up"]
    assert f"{DIRECTED} unknown" in script.prompts[-1]
    assert "Nowhere? unknown" in script.prompts[-1]
    assert (run.result["answer"], run.result["stop_reason"], run.result["citations"]) == ("", "unanswerable", [])


def test_an_intermediate_answer_that_names_no_passage_is_marked() -> None:
    replies = {"follow_up": [follow(DIRECTED), follow(final="Ada Brink")], "answer": [answer("Ada Brink", [9])]}
    run, _ = go(replies)
    assert run.result["explanation"] == f"{DIRECTED} Ada Brink (not grounded)"
    assert run.result["citations"] == []


@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_ends_in_a_best_effort_answer(limit: int) -> None:
    numbers = iter(range(100))
    replies = {
        "follow_up": lambda _: follow(f"Question {next(numbers)}?"),
        "answer": lambda prompt: answer("best") if "sub_answers" in prompt else answer("Ada Brink", [1]),
    }
    run, script = go(replies, max_hops=limit)
    assert script.steps == ["follow_up", "answer"] * limit + ["follow_up", "answer"]
    assert (run.result["answer"], run.result["stop_reason"]) == ("best", "max_iterations")
    assert script.prompts[-1].count("<item") == limit


def test_yes_no_is_asked_of_the_final_answer_only() -> None:
    replies = {"follow_up": [follow(DIRECTED), follow(final="No.")], "answer": [answer("Ada Brink", [1])]}
    run, script = go(replies, answer_type="yes_no")
    assert run.result["answer"] == "no"
    assert ["yes_no" in prompt for prompt in script.prompts] == [True, False, True]


@pytest.mark.parametrize("step", ["follow_up", "answer"])
def test_malformed_replies_take_the_declared_way(step: str) -> None:
    good: dict[str, Any] = {
        "follow_up": lambda prompt: follow(DIRECTED) if "(none)" in prompt else follow(final="x"),
        "answer": lambda _: answer("Ada Brink", [1]),
    }
    run, script = go({**good, step: lambda _: "I would rather not say."}, parse_retries=1)
    assert run.result["usage"]["parse_failures"] == script.steps.count(step) >= 2
    if step == "follow_up":  # the whole question is asked, and answered, and asked again in vain
        assert script.steps == ["follow_up"] * 2 + ["answer"] + ["follow_up"] * 2 + ["answer"]
        assert (run.result["answer"], run.result["stop_reason"]) == ("Ada Brink", "answered")
    else:
        assert (run.result["answer"], run.result["citations"]) == ("x", [])


# one prompt for a whole turn


def turn(intermediate: str = "", used: Sequence[int] = (), *, ask: str = "", final: str = "") -> str:
    return json.dumps(
        {"intermediate_answer": intermediate, "used_passages": [*used], "sub_question": ask, "final_answer": final}
    )


def joint_turns() -> dict[str, Any]:
    turns = [turn(ask=DIRECTED), turn("Ada Brink", [1], ask=BORN), turn("Tallinn", [3], final="Tallinn")]
    return {"follow_up_jointly": turns}


def test_one_prompt_answers_the_last_follow_up_and_asks_the_next() -> None:
    run, script = go(joint_turns(), prompting="joint")
    assert script.steps == ["follow_up_jointly"] * 3
    assert [event["data"]["query"] for event in run.events if event["event"] == "query"] == [QUESTION, DIRECTED, BORN]
    first, second, last = script.prompts
    assert "<follow_up>" not in first
    assert FILM[1] in first
    assert second.split("<follow_up>")[1].split("</follow_up>")[0].strip() == DIRECTED
    assert f"{DIRECTED} Ada Brink (source: It was directed by Ada Brink.)" in last.split("</history>")[0]
    assert all(text in last for text in (FILM[1], PERSON[1]))
    assert last.index("<passages>") < last.index("<question>")
    assert last.count(NOISE[1]) == 1
    assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "answered")
    assert [(each["passage_id"], each["quote"]) for each in run.result["citations"]] == [
        ("film", "It was directed by Ada Brink."),
        ("person", "She was born in Tallinn."),
    ]
    assert [(hop["answer"], hop["grounded"]) for hop in run.state["hops"]] == [("Ada Brink", True), ("Tallinn", True)]
    usage = run.result["usage"]
    assert (usage["llm_calls"], usage["retrievals"], usage["iterations"]) == (3, 3, 2)


def test_what_one_prompt_does_not_answer_is_unknown_and_a_final_answer_may_stand_alone() -> None:
    turns = [turn(ask="Nowhere?"), turn("not given", [4], ask=DIRECTED), turn("", [1], final="Ada Brink")]
    run, script = go({"follow_up_jointly": turns}, prompting="joint")
    assert "Nowhere? " in script.prompts[-1].split("</history>")[0]
    assert run.state["hops"][1]["answer"] == ""
    assert [each["passage_id"] for each in run.result["citations"]] == ["film"]


def test_one_prompt_keeps_what_it_answered_when_the_limit_ends_it() -> None:
    replies = {**joint_turns(), "answer": [answer("best")]}
    run, script = go(replies, prompting="joint", max_hops=1)
    assert script.steps == ["follow_up_jointly", "follow_up_jointly", "answer"]
    assert f"{DIRECTED} Ada Brink (source: It was directed by Ada Brink.)" in script.prompts[-1]
    assert (run.result["answer"], run.result["stop_reason"]) == ("best", "max_iterations")


def test_a_malformed_turn_answers_from_what_the_question_found() -> None:
    replies = {"follow_up_jointly": lambda _: "I would rather not say.", "answer": [answer("best")]}
    run, script = go(replies, prompting="joint", parse_retries=0)
    assert script.steps == ["follow_up_jointly", "answer"]
    assert FILM[1] in script.prompts[-1]
    assert run.result["answer"] == "best"


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_joint_turns_keep_the_budget(limit: int) -> None:
    numbers = iter(range(100))
    replies = {"follow_up_jointly": lambda _: turn(ask=f"{next(numbers)}?"), "answer": [answer("best")]}
    run, script = go(replies, prompting="joint", max_llm_calls=limit)
    assert script.steps == ["follow_up_jointly"] * (limit - 1) + ["answer"]
    assert (run.result["answer"], run.result["stop_reason"]) == ("best", "budget")


def test_every_edge_of_the_drawing_is_walked() -> None:
    limited = {"follow_up": [follow("A?"), follow("B?")], "answer": [answer("x"), answer("y")]}
    walked = (
        go(two_questions())[0].edges | go(limited, max_hops=1)[0].edges | go(joint_turns(), prompting="joint")[0].edges
    )
    walked |= go({**joint_turns(), "answer": [answer("x")]}, prompting="joint", max_hops=1)[0].edges
    assert walked == drawn_edges(self_ask.graph)
