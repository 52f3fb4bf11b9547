"""MIGRES's demonstrations: two for each step and family, which show what each reply may have."""

import json
from importlib.resources import files
from typing import Any

import pytest

STEPS = {
    "extract": {"passages", "question"},
    "decide": {"information", "question"},
    "generate_queries": {"question", "asked", "information", "missing"},
    "recall_knowledge": {"question"},
}
pytestmark = pytest.mark.parametrize("family", ["multi_hop", "open_domain", "yes_no"])


def demonstrations(step: str, family: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    path = files("hopgraph.nodes").joinpath(f"prompts/migres/{step}.{family}.jsonl")
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    wanted = STEPS[step] | ({"answer_type"} if (step, family) == ("decide", "yes_no") else set())
    assert [each["input"].keys() for each in found] == [wanted, wanted]
    return [(each["input"], each["output"]) for each in found]


def test_extract_cites_passages_that_are_shown_but_not_all_of_them(family: str) -> None:
    uncited = 0
    for shown, said in demonstrations("extract", family):
        assert all(passage.keys() == {"title", "text"} for passage in shown["passages"])
        assert all(item["info"] and item["support_passages"] for item in said["useful_information"])
        cited = {number for item in said["useful_information"] for number in item["support_passages"]}
        assert cited <= set(range(1, len(shown["passages"]) + 1))
        uncited += len(shown["passages"]) - len(cited)
    assert uncited


def test_decide_answers_one_and_names_what_the_other_misses(family: str) -> None:
    answered: list[bool] = []
    for shown, said in demonstrations("decide", family):
        assert said.keys() == {"answer", "explanation", "missing_information", "used_information"}
        assert 1 <= said["answer"]["confidence"] <= 5
        assert set(said["used_information"]) <= set(range(1, len(shown["information"]) + 1))
        known = said["answer"]["text"] != "unanswerable"
        assert known == bool(said["used_information"]) == (not said["missing_information"])
        assert not known or family != "yes_no" or said["answer"]["text"] in {"yes", "no"}
        answered.append(known)
    assert sorted(answered) == [False, True]


def test_new_queries_are_few_and_new(family: str) -> None:
    for shown, said in demonstrations("generate_queries", family):
        assert 1 <= len(set(said["queries"])) == len(said["queries"]) <= 3
        assert shown["missing"]
        assert shown["question"] == shown["asked"][0]
        assert not set(said["queries"]) & set(shown["asked"])


def test_one_recollection_admits_that_it_knows_nothing(family: str) -> None:
    told = [said["knowledge"] for _, said in demonstrations("recall_knowledge", family)]
    assert [text == "I don't know" for text in told] == [False, True]
