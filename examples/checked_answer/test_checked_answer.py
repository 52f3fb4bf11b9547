"""Tests of the method, with a model that replies what a test says, and the bundled sample."""

import json
from typing import Any

import pytest
from checked_answer import CheckedContext, graph
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


def run(*answers: str, **settings: Any) -> Any:
    replies = (AIMessage(json.dumps({"answer": each, "used_passages": [1]})) for each in answers)
    context = CheckedContext(model=GenericFakeChatModel(messages=replies), **settings)
    return graph.invoke({"question": "Who directed Metropolis?"}, context=context)


@pytest.mark.parametrize(
    ("replies", "settings", "answer", "tries"),
    [
        (["Fritz Lang", "fritz lang"], {}, "Fritz Lang", 1),
        (["Lang", "Murnau", "Fritz Lang", "Fritz Lang"], {}, "Fritz Lang", 2),
        (["Lang", "Murnau", "Fritz Lang", "unanswerable"], {"max_tries": 2}, "Fritz Lang", 2),
        (["Lang"], {"max_llm_calls": 1}, "Lang", 1),
    ],
)
def test_an_answer_stands_once_its_sources_confirm_it(
    replies: list[str], settings: dict[str, Any], answer: str, tries: int
) -> None:
    found = run(*replies, **settings)
    assert (found["answer"], found["usage"]["iterations"]) == (answer, tries)
    assert found["usage"]["llm_calls"] == len(replies)
    assert found["citations"]


def test_each_try_reads_more_passages() -> None:
    first, second = run("a", "a", top_k=2), run("a", "b", "c", "c", top_k=2)
    assert [len(each["passages"]) for each in (first, second)] == [2, 4]
