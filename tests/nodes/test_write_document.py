"""A document that is written from what was found for the question, then for itself."""

from typing import Any

import pytest

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.recall_knowledge import write_document
from hopgraph.state import Knowledge
from hopgraph.state.baselines import ItrgContext
from support.node_inputs import node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


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
