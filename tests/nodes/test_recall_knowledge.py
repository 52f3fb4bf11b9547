"""What a model writes from its own knowledge, or from what was found, where passages do not answer."""

import re
from typing import Any

import pytest

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.recall_knowledge import recall_knowledge, write_document
from hopgraph.state import Knowledge
from hopgraph.state.baselines import ItrgContext
from hopgraph.state.migres import MigresContext
from support.node_inputs import knowledge, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


def recalling(*entries: Any) -> Any:
    return {"knowledge": list(entries), "question": "the whole", "iteration": 2, **spent()}


async def test_jointly_it_is_asked_once_for_the_first_query_and_sees_the_question() -> None:
    seen: list[str] = []

    def reply(_: str, messages: Any) -> str:
        seen.append(messages[-1].text)
        return '{"knowledge": "Lima is in Peru."}'

    settings = MigresContext(model=ScriptedChatModel(replies=reply))
    update = await recall_knowledge(recalling(knowledge("q1"), knowledge("q2")), node_runtime(settings))
    [prompt] = seen
    assert re.findall(r"^<(\w+)>\n(.*)$", prompt, re.MULTILINE) == [
        ("question", "q1"),
        ("original_question", "the whole"),
    ]
    assert [len(entry["excerpts"]) for entry in update["knowledge"]] == [1, 0]


def rewriting(**fields: Any) -> Any:
    found = [passage("a", hop=1), passage("b", hop=2)]
    knowledge = [Knowledge(query="q", excerpts=[whole_excerpt(each, 1.0) for each in found])]
    state = {"question": "q?", "document": "Old.", "passages": found, "knowledge": knowledge, "iteration": 2}
    return {**state, "round_before": ["a"], "stop_reason": None, **spent(), **fields}


def settings(*replies: str, **more: Any) -> Any:
    more = {"mode": "refine", **more}
    return node_runtime(ItrgContext(model=ScriptedChatModel(replies=[*replies]), parse_retries=0, **more))


@pytest.mark.parametrize(
    ("reply", "document"),
    [
        ('{"passage": "New."}', "New."),
        ('{"passage": "Old."}', "Old."),
        ('{"passage": "I don\'t know"}', "Old."),
        ("", "Old."),
    ],
)
async def test_a_document_that_stays_as_it_was_is_searched_for_no_more(reply: str, document: str) -> None:
    update = await write_document(rewriting(), settings(reply))
    changed = document == "New."
    assert (update["document"], update["iteration"]) == (document, 2 + changed)
    assert [each["text"] for each in update["queries"]] == ["q? New."] * changed
    assert [(each["id"], each["text"]) for each in update["passages"]] == [("model:2", document)]
    assert [len(each["excerpts"]) for each in update["knowledge"]] == [2, 1]


async def test_nothing_new_takes_no_call() -> None:
    update = await write_document(rewriting(round_before=["a", "b"]), settings())
    assert (update["calls"], update["queries"], update["document"]) == ({}, [], "Old.")
