"""BlendFilter's filter: passages weighed, then named."""

from typing import Any

import pytest
from pydantic import ValidationError

from hopgraph.nodes.filter_passages import Relevance, judge_passages, select_passages
from hopgraph.state.blendfilter import BlendFilterContext
from support.node_inputs import knowledge, model_call, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


def union(**fields: Any) -> Any:
    known: Any = {"question": "Where?", "topic": "Cities", "judgements": ["", "The second one."]}
    entries = [knowledge("q1"), knowledge("q2", "a", "b")]
    return {**known, "knowledge": entries, "passages": [passage("a"), passage("b")], **spent(), **fields}


async def test_only_an_entry_with_passages_is_weighed() -> None:
    model = ScriptedChatModel(replies=['{"judgement": " The second one. "}'])
    update = await judge_passages(union(), node_runtime(BlendFilterContext(model=model)))
    assert (update["judgements"], update["cut_off"], len(model.calls)) == (["", "The second one."], False, 1)
    assert "Cities" in model.calls[0].messages[-1].text


@pytest.mark.parametrize(
    ("reply", "kept"),
    [('{"relevant": [2, 9]}', ["b"]), ('{"relevant": []}', []), ("?", ["a", "b"])],
)
async def test_the_passages_that_the_model_names_are_kept(reply: str, kept: list[str]) -> None:
    settings = BlendFilterContext(model=ScriptedChatModel(replies=[reply]), parse_retries=0)
    update = await select_passages(union(), node_runtime(settings))
    assert [[each["passage_id"] for each in entry["excerpts"]] for entry in update["knowledge"]] == [[], kept]


async def test_a_budget_filters_the_first_entries_only() -> None:
    """Two calls for the filter of each, and two for the answer."""
    settings = BlendFilterContext(model=ScriptedChatModel(replies=['{"judgement": "b"}']), max_llm_calls=5)
    entries = [knowledge("q0"), knowledge("q1", "a", "b"), knowledge("q2", "a", "b")]
    state = union(knowledge=entries, **spent(model_call()))
    update = await judge_passages(state, node_runtime(settings))
    assert (update["judgements"], update["cut_off"]) == (["", "b", None], True)
    settings = BlendFilterContext(model=ScriptedChatModel(replies=['{"relevant": [2]}']), max_llm_calls=5)
    state |= update
    update = await select_passages(state, node_runtime(settings))
    assert [[each["passage_id"] for each in entry["excerpts"]] for entry in update["knowledge"]] == [
        [],
        ["b"],
        ["a", "b"],
    ]


async def test_what_the_budget_does_not_reach_stays_as_it_is() -> None:
    settings = BlendFilterContext(model=ScriptedChatModel(replies=[]), max_llm_calls=3)
    state = union(**spent(model_call()))
    update = await select_passages(state, node_runtime(settings))
    assert (update["knowledge"], update["cut_off"]) == (state["knowledge"], True)


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ([2, 1], [2, 1]),
        ("[12]", [12]),
        (3, [3]),
        ("none", []),
        ("No.", []),
        (False, []),
        ([], []),
        (["Passage 4"], [4]),
    ],
)
def test_relevant_passages_are_read_as_numbers(said: object, numbers: list[int]) -> None:
    assert Relevance.model_validate({"relevant": said}).relevant == numbers


@pytest.mark.parametrize("said", ["yes", True, {"a": 1}, None])
def test_what_names_no_passage_is_not_taken_for_none(said: object) -> None:
    with pytest.raises(ValidationError):
        Relevance.model_validate({"relevant": said})
