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
FAMILIES = ("multi_hop", "open_domain", "yes_no")


def demonstrations(step: str, family: str) -> list[dict[str, Any]]:
    path = files("hopgraph.nodes").joinpath(f"prompts/migres/{step}.{family}.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("step", STEPS)
def test_there_are_two_with_the_variables_of_the_step(step: str, family: str) -> None:
    found = demonstrations(step, family)
    assert len(found) == 2
    wanted = STEPS[step]
    if (step, family) == ("decide", "yes_no"):
        wanted = wanted | {"answer_type"}
    for example in found:
        assert example.keys() == {"input", "output"}
        assert example["input"].keys() == wanted
        assert example["input"].get("answer_type", "yes_no") == "yes_no"


@pytest.mark.parametrize("family", FAMILIES)
def test_extract_cites_passages_that_are_shown(family: str) -> None:
    uncited: set[str] = set()
    for example in demonstrations("extract", family):
        passages = example["input"]["passages"]
        assert all(passage.keys() == {"title", "text"} for passage in passages)
        cited: set[int] = set()
        for item in example["output"]["useful_information"]:
            assert item.keys() == {"info", "support_passages"}
            assert item["info"]
            assert item["support_passages"]
            cited.update(item["support_passages"])
        assert cited <= set(range(1, len(passages) + 1))
        uncited.update(p["title"] for number, p in enumerate(passages, 1) if number not in cited)
    assert uncited, "no distractor stays uncited"


@pytest.mark.parametrize("family", FAMILIES)
def test_decide_answers_one_and_names_what_the_other_misses(family: str) -> None:
    answered: list[bool] = []
    for example in demonstrations("decide", family):
        output = example["output"]
        assert output.keys() == {"answer", "explanation", "missing_information", "used_information"}
        assert 1 <= output["answer"]["confidence"] <= 5
        assert set(output["used_information"]) <= set(range(1, len(example["input"]["information"]) + 1))
        known = output["answer"]["text"] != "unanswerable"
        assert known == bool(output["used_information"])
        assert known == (not output["missing_information"])
        if known and family == "yes_no":
            assert output["answer"]["text"] in {"yes", "no"}
        answered.append(known)
    assert sorted(answered) == [False, True]


@pytest.mark.parametrize("family", FAMILIES)
def test_new_queries_are_few_and_new(family: str) -> None:
    for example in demonstrations("generate_queries", family):
        queries = example["output"]["queries"]
        assert 1 <= len(queries) <= 3
        assert len(set(queries)) == len(queries)
        assert example["input"]["missing"]
        assert example["input"]["question"] == example["input"]["asked"][0]
        assert not set(queries) & set(example["input"]["asked"])


@pytest.mark.parametrize("family", FAMILIES)
def test_one_recollection_admits_that_it_knows_nothing(family: str) -> None:
    told = [example["output"]["knowledge"] for example in demonstrations("recall_knowledge", family)]
    assert [text == "I don't know" for text in told] == [False, True]
