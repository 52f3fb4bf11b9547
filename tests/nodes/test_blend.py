"""BlendFilter's queries: which there are, and what each branch is given."""

from typing import Any

import pytest

from hopgraph.nodes.blend import blend, branch_input, first_steps, name_topic, reason
from hopgraph.state.blendfilter import BlendFilterContext
from support.node_inputs import draft, model_call, node_runtime, passage, spent
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
    assert {each["name"]: each["query"] for each in update["branches"]} == queries
    assert (update["asked"], update["cut_off"]) == (list(queries.values()), False)


async def test_a_budget_filters_the_first_branches_only() -> None:
    state = searched(recalled="Old.", **spent(model_call()))
    update = await blend(state, node_runtime(BlendFilterContext(max_llm_calls=5)))
    assert [each["reserved"] is not None for each in update["branches"]] == [True, False]
    assert update["cut_off"] is True


async def test_the_questions_own_branch_comes_with_what_was_found() -> None:
    state = searched(recalled="Old.")
    update = await blend(state, node_runtime(BlendFilterContext()))
    own, internal = [branch_input(state, each) for each in update["branches"]]
    assert (own["passages"], "queries" in own) == (state["passages"], False)
    assert ([each["text"] for each in internal["queries"]], "passages" in internal) == (["Old. Where?"], False)


async def test_a_topic_is_one_short_line_and_an_unusable_chain_is_none() -> None:
    settings = BlendFilterContext(model=ScriptedChatModel(replies=['{"topic": " Old\n cities "}']))
    assert (await name_topic(searched(), node_runtime(settings)))["topic"] == "Old cities"
    settings = BlendFilterContext(model=ScriptedChatModel(replies=["?"]), parse_retries=0)
    update = await reason(searched(), node_runtime(settings))
    assert (update["reasoned"], update["cut_off"]) == ([], False)
