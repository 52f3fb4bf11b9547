"""ReAct end to end: turns of thought, action and observation, every edge, malformed replies, budgets."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hopgraph.graphs.baselines import react
from support.walks import FixedRetriever, Script, Walk, drawn_edges, walk

QUESTION = "Where was the director of the film Night Harbour born?"
FILM = ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink.")
PERSON = ("Ada Brink", "Ada Brink was a director. She was born in Tallinn.")
NOISE = ("Harbour", "A harbour shelters ships.")
FOUND: dict[str, dict[str, tuple[str, str]]] = {
    "Ada": {"person": PERSON, "film": FILM},
    "Harbour": {"film": FILM, "noise": NOISE},
    "Nowhere": {},
    "": {"noise": NOISE},
}


def act(action: str, thought: str = "", used: Sequence[int] = ()) -> str:
    return json.dumps({"thought": thought, "action": action, "used_passages": list(used)})


def go(replies: Mapping[str, Any], question: str = QUESTION, **more: Any) -> tuple[Walk, Script]:
    script = Script(replies)
    given: dict[str, Any] = {"model": script.model(), "retriever": FixedRetriever(found=FOUND), **more}
    return walk(react.graph, {"question": question}, react.Context(**given)), script


def three_turns() -> dict[str, Any]:
    return {
        "act": [
            act("search[film Night Harbour]", "The film has to be found."),
            act("Search[ birthplace of Ada Brink ]", "Ada Brink directed it; her birthplace is needed."),
            act("finish[Tallinn]", "Ada Brink was born in Tallinn.", [1, 3, 9]),
        ]
    }


def numbered(prompt: str) -> dict[str, str]:
    return dict(re.findall(r'<passage id="(\d+)" title="([^"]*)">', prompt))


def queries(run: Walk) -> list[Any]:
    return [event["data"]["query"] for event in run.events if event["event"] == "query"]


def test_thoughts_actions_and_observations_follow_on_one_another() -> None:
    run, script = go(three_turns())
    assert script.steps == ["act"] * 3
    assert queries(run) == [QUESTION, "film Night Harbour", "birthplace of Ada Brink"]
    assert [numbered(prompt) for prompt in script.prompts] == [
        {"1": "Night Harbour", "2": "Harbour"},  # what the question found
        {"1": "Night Harbour", "2": "Harbour"},
        {"1": "Night Harbour", "2": "Harbour", "3": "Ada Brink"},
    ]
    history = script.prompts[-1].split("</history>")[0]
    assert "Action: search[film Night Harbour] Observation: passages 1, 2<" in history
    assert (
        "Thought: Ada Brink directed it; her birthplace is needed. "
        "Action: search[birthplace of Ada Brink] Observation: passages 3, 1<"
    ) in history


def test_an_answer_that_says_nothing_is_none() -> None:
    run, _ = go({"act": [act("finish[I do not know]")]})
    assert (run.result["answer"], run.result["stop_reason"], run.result["citations"]) == ("", "unanswerable", [])


def test_yes_no_answers_are_yes_or_no() -> None:
    run, script = go({"act": [act("finish[Yes, she was]")]}, answer_type="yes_no")
    assert run.result["answer"] == "yes"
    assert "yes_no" in script.prompts[0]
    assert react.Context.preset("yes_no").answer_type == "yes_no"


@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_ends_in_a_best_effort_answer_from_all_passages(limit: int) -> None:
    numbers = iter(range(100))
    replies = {
        "act": lambda _: act(f"search[Ada {next(numbers)}]"),
        "answer": [json.dumps({"answer": "Tallinn", "used_passages": [1]})],
    }
    run, script = go(replies, max_hops=limit)
    assert script.steps == ["act"] * (limit + 1) + ["answer"]
    assert numbered(script.prompts[-1]) == {"1": "Night Harbour", "2": "Harbour", "3": "Ada Brink"}
    assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "max_iterations")
    assert [each["passage_id"] for each in run.result["citations"]] == ["film"]


def test_a_search_that_finds_nothing_is_observed() -> None:
    _, script = go({"act": [act("search[Nowhere]"), act("finish[x]")]})
    assert "Observation: passages none" in script.prompts[-1]


@pytest.mark.parametrize("step", ["act", "answer"])
def test_malformed_replies_take_the_declared_way(step: str) -> None:
    numbers = iter(range(100))
    good: dict[str, Any] = {
        "act": lambda _: act(f"search[Ada {next(numbers)}]"),
        "answer": lambda _: json.dumps({"answer": "Tallinn", "used_passages": [7, 1]}),
    }
    run, script = go({**good, step: lambda _: "I would rather not say."}, parse_retries=1, max_hops=2)
    failed = script.steps.count(step)
    assert run.result["usage"]["parse_failures"] == failed == 2
    if step == "act":
        assert queries(run) == [QUESTION]
        assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "answered")
        assert [each["passage_id"] for each in run.result["citations"]] == ["film"]
    else:
        assert (run.result["answer"], run.result["citations"]) == ("", [])
        assert run.result["stop_reason"] == "max_iterations"


def test_any_question_can_be_searched_for() -> None:
    for question in ("x " * 4_999 + "x?", "?!", "what is a[0]"):
        run, _ = go({"act": lambda _: "", "answer": lambda _: ""}, question, parse_retries=0)
        assert queries(run) == [question]


def test_every_edge_of_the_drawing_is_walked() -> None:
    limited = {"act": [act("search[Ada]"), act("search[Brink]")], "answer": [json.dumps({"answer": "x"})]}
    walked = go(three_turns())[0].edges | go(limited, max_hops=1)[0].edges
    assert walked == drawn_edges(react.graph)
