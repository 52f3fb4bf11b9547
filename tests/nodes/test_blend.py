"""BlendFilter's queries: which there are, and what each branch is given."""

from typing import Any

import pytest

from hopgraph.nodes.blend import add_found, blend, first_steps, name_topic, reason
from hopgraph.state import Candidates
from hopgraph.state.blendfilter import BlendFilterContext
from support.node_inputs import draft, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


def searched(**fields: Any) -> Any:
    known: Any = {
        "question": "Where?",
        "topic": "",
        "asked": ["Where?"],
        "reasoned": [],
        "recalled": "",
        "settings": {},
    }
    return {**known, "candidates": [], "passages": [passage("a")], **spent(), **fields}


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, ["reason", "recall", "topic"]),
        ({"answer_type": "yes_no"}, ["reason", "recall"]),
        ({"filtering": "none", "internal_query": False}, ["reason"]),
        ({"filtering": "none", "internal_query": False, "external_query": False}, []),
    ],
)
def test_what_is_asked_before_the_queries_are_blended(settings: dict[str, Any], steps: list[str]) -> None:
    assert first_steps(BlendFilterContext(**settings)) == steps


@pytest.mark.parametrize(
    ("found", "queries"),
    [
        (
            {"reasoned": [draft("Lima", "So.")], "recalled": "It is old."},
            {"original": "Where?", "external": "So. Lima Where?", "internal": "It is old. Where?"},
        ),
        ({}, {"original": "Where?"}),  # nothing was reasoned or recalled: the same query again
    ],
)
async def test_each_query_is_searched_once(found: dict[str, Any], queries: dict[str, str]) -> None:
    update = await blend(searched(**found), node_runtime(BlendFilterContext()))
    augmented = {each["why"]: each["text"] for each in update["queries"]}
    assert {"original": "Where?", **augmented} == queries
    assert (update["candidates"], update["iteration"]) == ([], 2 if augmented else 1)


@pytest.mark.parametrize(("original", "kept"), [(True, [["a"], ["b"]]), (False, [["b"]])])
async def test_what_the_question_found_comes_before_what_the_other_queries_find(
    original: bool, kept: list[list[str]]
) -> None:
    runtime = node_runtime(BlendFilterContext(top_k=1, original_query=original))
    first = Candidates(query="Where?", passage_ids=["a", "b"], scores=[2.0, 1.0])
    state = searched(recalled="Old.", candidates=[first], passages=[passage("a"), passage("b")])
    state |= await blend(state, runtime)
    state["candidates"] = [Candidates(query="Old. Where?", passage_ids=["b"], scores=[1.0])]
    found = (await add_found(state, runtime))["knowledge"]
    assert [[each["passage_id"] for each in entry["excerpts"]] for entry in found] == kept


async def test_a_topic_is_one_short_line_and_an_unusable_chain_is_none() -> None:
    settings = BlendFilterContext(model=ScriptedChatModel(replies=['{"topic": " Old\n cities "}']))
    assert (await name_topic(searched(), node_runtime(settings)))["topic"] == "Old cities"
    settings = BlendFilterContext(model=ScriptedChatModel(replies=["?"]), parse_retries=0)
    update = await reason(searched(), node_runtime(settings))
    assert (update["reasoned"], update["cut_off"]) == ([], False)
