"""Search-o1 end to end: thoughts, searches and condensed information, every edge, malformed replies, budgets."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hopgraph.graphs.baselines import search_o1
from support.baselines_script import BORN, DIRECTED, FILM, FOUND_BY_NAME, PERSON, QUESTION
from support.walks import FixedRetriever, Script, Walk, drawn_edges, walk

ASKED, AGAIN = "director of Night Harbour", "Ada Brink birthplace"


def think(thought: str, search: str = "", final: str = "") -> str:
    return json.dumps({"thought": thought, "sub_question": search, "final_answer": final})


def inform(text: str, used: Sequence[int] = ()) -> str:
    return json.dumps({"information": text, "used_passages": list(used)})


def go(replies: Mapping[str, Any], **more: Any) -> tuple[Walk, Script]:
    script = Script(replies)
    found = FixedRetriever(found={"Nowhere": {}, **FOUND_BY_NAME})
    given: dict[str, Any] = {"model": script.model(), "retriever": found, **more}
    return walk(search_o1.graph, {"question": QUESTION}, search_o1.Context(**given)), script


def two_searches() -> dict[str, Any]:
    return {
        "continue_reasoning": [think("Who directed it?", ASKED), think("She.", AGAIN), think("So.", final="Tallinn")],
        "reason_in_documents": [inform(DIRECTED, [2]), inform(BORN, [2, 7])],
    }


def test_only_what_was_condensed_joins_the_reasoning() -> None:
    run, script = go(two_searches())
    assert script.steps == ["continue_reasoning", "reason_in_documents"] * 2 + ["continue_reasoning"]
    _, first, between, second, last = script.prompts
    assert FILM[1] in first
    assert ASKED in first
    assert PERSON[1] in second
    assert DIRECTED in second
    assert FILM[1] not in last
    for known in ("Who directed it?", f"{ASKED}\n{DIRECTED}", "She.", f"{AGAIN}\n{BORN}"):
        assert known in last
    assert BORN not in between
    assert (run.result["answer"], run.result["explanation"]) == ("Tallinn", "So.")
    assert [(each["passage_id"], each["quote"]) for each in run.result["citations"]] == [
        ("film", "It was directed by Ada Brink."),
        ("person", "She was born in Tallinn."),
    ]
    usage = run.result["usage"]
    assert (usage["llm_calls"], usage["retrievals"], usage["iterations"]) == (5, 2, 2)


def test_searches_without_help_are_told_so() -> None:
    steps = [think("", ASKED), think("", "Nowhere"), think("", final="unanswerable")]
    run, script = go({"continue_reasoning": steps, "reason_in_documents": [inform("", [1])]})
    assert script.steps == ["continue_reasoning", "reason_in_documents", "continue_reasoning", "continue_reasoning"]
    assert f"{ASKED}\nnothing helpful" in script.prompts[-1]
    assert "Nowhere\nnothing helpful" in script.prompts[-1]
    assert (run.result["answer"], run.result["stop_reason"], run.result["citations"]) == ("", "unanswerable", [])


def test_information_of_no_passage_shown_cites_none() -> None:
    steps = [think("", ASKED), think("So.", final="Ada Brink")]
    run, _ = go({"continue_reasoning": steps, "reason_in_documents": [inform(DIRECTED, [9])]})
    assert (run.result["answer"], run.result["citations"]) == ("Ada Brink", [])


@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_ends_in_a_best_effort_answer(limit: int) -> None:
    numbers = iter(range(100))
    replies = {
        "continue_reasoning": lambda _: think("", f"search {next(numbers)}"),
        "reason_in_documents": lambda _: inform(DIRECTED, [2]),
        "answer": [json.dumps({"answer": "Tallinn"})],
    }
    run, script = go(replies, max_hops=limit)
    assert script.steps == ["continue_reasoning", "reason_in_documents"] * limit + ["continue_reasoning", "answer"]
    assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "max_iterations")


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_the_budget_leaves_a_call_for_the_answer(limit: int) -> None:
    replies = {**two_searches(), "answer": lambda _: json.dumps({"answer": "best"})}
    run, _ = go(replies, max_llm_calls=limit)
    assert run.result["usage"]["llm_calls"] <= limit
    assert (run.result["answer"], run.result["stop_reason"]) == ("best", "budget")


def test_malformed_replies_end_without_an_answer() -> None:
    run, _ = go(dict.fromkeys(("continue_reasoning", "reason_in_documents", "answer"), lambda _: "{"), parse_retries=0)
    assert (run.result["answer"], run.result["usage"]["iterations"]) == ("", 1)


def test_every_edge_is_taken() -> None:
    numbers = iter(range(9))
    endless = {**two_searches(), "answer": lambda _: json.dumps({"answer": "x"})}
    endless["continue_reasoning"] = lambda _: think("", f"search {next(numbers)}")
    endless["reason_in_documents"] = lambda _: inform("")
    taken = go(two_searches())[0].edges | go(endless, max_hops=2)[0].edges
    assert taken == drawn_edges(search_o1.graph)
