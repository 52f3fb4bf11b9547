"""Which passages a question is answered from: those needed where all together are enough, or each that is relevant."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from hopgraph.nodes.judge_relevance import JointRelevance, PassageRelevance, judge_relevance
from hopgraph.state import Candidates
from hopgraph.state.ra_isf import RaIsfContext
from support.node_inputs import node_runtime, on_branch, passage, question_node, spent
from support.servers.scripted_model import ScriptedChatModel


async def judged(judge: Any, *replies: dict[str, Any]) -> tuple[list[str], int]:
    found = Candidates(query="q", passage_ids=["a", "b", "c"], scores=[3.0, 2.0, 1.0])
    passages = [passage(key) for key in ("a", "b", "c")]
    tree = {"0": question_node("0")}
    state: Any = {"branch": on_branch("0", "solve"), "tree": tree, "candidates": [found], "passages": passages}
    state |= {"cut_off": False, **spent()}
    model = ScriptedChatModel(replies=[json.dumps(reply) for reply in replies])
    settings = RaIsfContext(model=model, judge=judge, max_parallel_calls=1)
    update = await judge_relevance(state, node_runtime(settings))
    return [each["passage_id"] for each in update["knowledge"][0]["excerpts"]], len(model.calls)


@pytest.mark.parametrize(
    ("enough", "relevant", "kept"),
    [
        (True, [1, 3], ["a", "c"]),
        (True, [3, 9], ["c"]),
        (True, [], ["a", "b", "c"]),
        (False, [1], []),  # a bridge alone: the question is broken down
    ],
)
async def test_all_are_judged_together_in_one_call(enough: bool, relevant: list[int], kept: list[str]) -> None:
    assert await judged("listwise", {"thought": "-", "enough": enough, "relevant": relevant}) == (kept, 1)


async def test_each_is_judged_by_itself() -> None:
    assert await judged("each", *({"relevant": said} for said in (False, True, False))) == (["b"], 3)


@pytest.mark.parametrize(("said", "read"), [(True, True), ("relevance", True), ("Irrelevant.", False), ("No", False)])
def test_verdicts_are_read_in_words(said: object, read: bool) -> None:
    assert PassageRelevance.model_validate({"relevant": said}).relevant is read
    assert JointRelevance.model_validate({"enough": said}).enough is read


@pytest.mark.parametrize("said", ["perhaps", [1], {"a": 1}, None])
def test_anything_else_is_no_verdict(said: object) -> None:
    with pytest.raises(ValidationError):
        PassageRelevance.model_validate({"relevant": said})
