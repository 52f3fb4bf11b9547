"""OneR, VANILLA, VANILLA-s, SUMM and SNIPPET: what the reader is shown."""

import json
from typing import Any

import pytest

from support.baselines_script import BORN, DIRECTED, NOISE, Rated, go, titles
from support.walks import FixedRetriever


def test_one_step_shows_the_top_k_in_the_retrievers_order() -> None:
    _, script = go("one_step")
    assert titles(script.prompts[0]) == ["Harbour", "Night Harbour"]
    _, script = go("one_step", top_k=1)
    assert titles(script.prompts[0]) == ["Harbour"]


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({}, ["Ada Brink", "Night Harbour", "Harbour"]),
        ({"context_passages": 2}, ["Ada Brink", "Night Harbour"]),
        ({"threshold": 1.5}, ["Ada Brink"]),
        ({"threshold": 9.0}, []),
        ({"top_k": 1}, ["Harbour"]),
    ],
)
def test_vanilla_shows_the_best_reranked_passages(more: dict[str, Any], shown: list[str]) -> None:
    run, script = go("vanilla", **more)
    assert titles(script.prompts[0]) == shown
    assert len(run.result["passages"]) == more.get("top_k", 3)


def test_vanilla_s_shows_relevant_sentences_alone() -> None:
    _, script = go("vanilla_s", reranker=Rated(lambda text: 1.0 if "born" in text else -1.0))
    assert "She was born in Tallinn." in script.prompts[0]
    assert titles(script.prompts[0]) == ["Ada Brink"]
    _, script = go("vanilla_s", reranker=Rated(lambda text: 1.0 if "was a director" in text else -1.0))
    assert "born" not in script.prompts[0].split("</passages>")[0]


@pytest.mark.parametrize(("method", "step"), [("summ", "summarize"), ("snippet", "snippet")])
def test_the_reader_sees_what_the_model_made_of_the_relevant_passages(method: str, step: str) -> None:
    _, script = go(method)
    assert [titles(prompt)[0] for prompt in script.prompts[:3]] == ["Ada Brink", "Night Harbour", "Harbour"]
    assert titles(script.prompts[-1]) == ["Ada Brink", "Night Harbour"]
    assert BORN in script.prompts[-1]
    assert DIRECTED in script.prompts[-1]
    assert "She was born" not in script.prompts[-1]
    assert script.steps.count(step) == 3


MANY = {f"p{number:02}": (f"Title {number}", f"Fact number {number}.") for number in range(1, 31)}


def odd_ones(prompt: str) -> str:
    number = int(titles(prompt)[0].split()[1])
    return json.dumps({"text": f"fact {number}" if number % 2 else "irrelevant"})


@pytest.mark.parametrize(
    ("more", "compressed", "shown"),
    [
        ({}, 9, ["1", "3", "5", "7", "9"]),  # rounds of 5, 2, 1, 1: irrelevant ones make room for the next
        ({"context_passages": 2}, 3, ["1", "3"]),
        ({"max_compressed": 6}, 6, ["1", "3", "5"]),
        ({"top_k": 4}, 4, ["1", "3"]),
    ],
)
def test_passages_are_compressed_until_k_are_relevant(more: dict[str, Any], compressed: int, shown: list[str]) -> None:
    given = {"retriever": FixedRetriever(found={"": MANY}), "reranker": Rated(lambda _: 0.0), **more}
    _, script = go("summ", {"summarize": odd_ones, "answer": lambda _: '{"answer": "x"}'}, **given)
    assert script.steps == ["summarize"] * compressed + ["answer"]
    assert titles(script.prompts[-1]) == [f"Title {number}" for number in shown]


def test_what_the_budget_does_not_reach_is_shown_whole() -> None:
    run, script = go("summ", max_llm_calls=2)
    assert script.steps == ["summarize", "answer"]
    assert titles(script.prompts[-1]) == ["Ada Brink", "Night Harbour", "Harbour"]
    assert (BORN in script.prompts[-1], NOISE[1] in script.prompts[-1]) == (True, True)
    assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "budget")


def test_nothing_found_is_answered_without_passages() -> None:
    for method in ("summ", "vanilla", "vanilla_s", "rerank", "iter_retgen", "ircot"):
        run, script = go(method, retriever=FixedRetriever(found={}))
        assert run.result["citations"] == []
        assert titles(script.prompts[-1]) == []
