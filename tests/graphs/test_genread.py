"""GenRead and GRG end to end: a scripted model, with and without decomposition, every edge of the drawings."""

import json
import re
from types import ModuleType
from typing import Any

import pytest

from hopgraph.graphs.baselines import genread, grg
from support.walks import FixedRetriever, Script, drawn_edges, walk

QUESTION = "Where was the director of the film Night Harbour born?"
PARTS = ["Who directed the film Night Harbour?", "Where was #1 born?"]
BORN = "Where was Ada Brink born?"
FOUND = {
    "Who": {"film": ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink.")},
    "": {"person": ("Ada Brink", "Ada Brink was a director. She was born in Tallinn.")},
}
BOTH = pytest.mark.parametrize("method", [genread, grg], ids=["genread", "grg"])


def asked(prompt: str) -> str:
    return prompt.split("<question>\n")[1].split("\n</question>")[0]


def titles(prompt: str) -> list[str]:
    return re.findall(r'title="([^"]*)"', prompt)


def write(prompt: str) -> str:
    by_whom = "Night Harbour was directed by Ada Brink."
    known = by_whom if asked(prompt) == PARTS[0] else "Ada Brink was born in Tallinn, in 1920."
    return json.dumps({"passage": known})


def read(prompt: str) -> str:
    answer = "Ada Brink" if asked(prompt) == PARTS[0] else "Tallinn"
    return json.dumps({"answer": answer, "used_passages": list(range(1, 1 + len(titles(prompt))))})


def replies(**other: Any) -> dict[str, Any]:
    usual = {"decompose": lambda _: json.dumps({"sub_questions": PARTS}), "write_passage": write, "answer": read}
    return {**usual, **other}


def settings(method: ModuleType, script: Script, **more: Any) -> Any:
    return method.Context(**{"model": script.model(), "retriever": FixedRetriever(found=FOUND), **more})


def run(method: ModuleType, script: Script, **more: Any) -> dict[str, Any]:
    return method.graph.invoke({"question": QUESTION}, context=settings(method, script, **more))


def cited(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["passage_id"], each["kind"]) for each in result["citations"]]


def test_genread_writes_a_passage_and_reads_it() -> None:
    script = Script(replies())
    result = run(genread, script)
    assert script.steps == ["write_passage", "answer"]
    assert "Ada Brink was born in Tallinn, in 1920." in script.prompts[1]
    assert (result["answer"], result["stop_reason"], result["usage"]["retrievals"]) == ("Tallinn", "answered", 0)
    assert (cited(result), result["passages"]) == ([("model:1.1", "model")], [])


def test_grg_reads_retrieved_and_written_passages_together() -> None:
    script = Script(replies())
    result = run(grg, script)
    assert script.steps == ["write_passage", "answer"]
    assert titles(script.prompts[1]) == ["Ada Brink", "Model knowledge"]
    assert result["usage"]["retrievals"] == 1
    assert cited(result) == [("person", "passage"), ("model:1.1", "model")]
    assert [passage["id"] for passage in result["passages"]] == ["person"]


@BOTH
def test_decomposition_answers_each_part_with_the_answers_before_it(method: ModuleType) -> None:
    script = Script(replies())
    walked = walk(method.graph, {"question": QUESTION}, settings(method, script, decomposition=True))
    assert script.steps == ["decompose", *["write_passage", "answer"] * 2, "answer"]
    assert [(hop["question"], hop["answer"]) for hop in walked.state["hops"]] == [
        (PARTS[0], "Ada Brink"),
        (BORN, "Tallinn"),
    ]
    assert [asked(prompt) for prompt in script.prompts[1:]] == [PARTS[0], PARTS[0], BORN, BORN, QUESTION]
    assert [f"{PARTS[0]} Ada Brink" in prompt for prompt in script.prompts] == [False] * 4 + [True] * 2
    assert "<sub_answers>" not in script.prompts[2]
    queries = [event["data"]["query"] for event in walked.events if event["event"] == "query"]
    assert queries == ([] if method is genread else [PARTS[0], BORN])
    assert walked.result["usage"]["iterations"] == 2
    own = [("model:1.1", "model"), ("model:2.1", "model")]
    both = [("film", "passage"), own[0], ("person", "passage"), own[1]]
    assert cited(walked.result) == (own if method is genread else both)
    assert walked.result["answer"] == "Tallinn"


@BOTH
def test_only_the_question_itself_is_answered_with_yes_or_no(method: ModuleType) -> None:
    script = Script(replies())
    run(method, script, decomposition=True, answer_type="yes_no")
    assert ["yes_no" in prompt for prompt in script.prompts] == [False] * 5 + [True]


@BOTH
def test_a_question_that_cannot_be_broken_down_is_read_whole(method: ModuleType) -> None:
    script = Script(replies(decompose=lambda _: json.dumps({"sub_questions": [QUESTION.upper()]})))
    run(method, script, decomposition=True)
    assert script.steps == ["decompose", "write_passage", "answer"]


def test_a_part_about_which_nothing_is_known_is_not_read() -> None:
    script = Script(replies(write_passage=lambda _: '{"passage": "I don\'t know"}'))
    result = run(genread, script, decomposition=True)
    assert script.steps == ["decompose", "write_passage", "write_passage", "answer"]
    assert asked(script.prompts[2]) == f"Where was “{PARTS[0].rstrip('?')}” born?"
    assert script.prompts[-1].count("unknown") == 2
    assert cited(result) == []


@BOTH
def test_every_edge_of_the_drawing_is_walked(method: ModuleType) -> None:
    walked = {
        edge
        for more in ({}, {"decomposition": True})
        for edge in walk(method.graph, {"question": QUESTION}, settings(method, Script(replies()), **more)).edges
    }
    assert walked == drawn_edges(method.graph)
