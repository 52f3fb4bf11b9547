"""One question of RA-ISF's tree, answered or given up."""

import json
from typing import Any

import pytest

from hopgraph.nodes.solve_question import give_up, make_answer_question_node
from hopgraph.state.ra_isf import RaIsfContext
from support.node_inputs import knowledge, node_runtime, on_branch, passage, question_node, spent
from support.servers.scripted_model import ScriptedChatModel


def branch(key: str = "0.1", **fields: Any) -> Any:
    tree = {each["id"]: each for each in (question_node("0"), question_node(key))}
    found = {"knowledge": [knowledge("q", "a", "b")], "passages": [passage("a"), passage("b")]}
    return {
        "branch": on_branch(key, "solve"),
        "tree": tree,
        "cut_off": False,
        **found,
        **spent(),
        **fields,
    }


async def answered(own_knowledge: bool, **reply: Any) -> Any:
    settings = RaIsfContext(model=ScriptedChatModel(replies=[json.dumps(reply)]))
    return await make_answer_question_node(own_knowledge=own_knowledge)(branch(), node_runtime(settings))


@pytest.mark.parametrize(("used", "rests_on"), [([2], ["b"]), ([], ["a", "b"])])
async def test_an_answer_rests_on_what_is_named_or_on_all_that_was_shown(used: list[int], rests_on: list[str]) -> None:
    update = await answered(False, answer="Lima", used_passages=used)
    node = update["tree"]["0.1"]
    assert (node["answer"], node["how"], node["status"]) == ("Lima", "passages", "answered")
    assert [(each["id"], each["passage_ids"]) for each in update["evidence"]] == [("0.1", rests_on)]


async def test_own_knowledge_is_a_passage_of_the_models() -> None:
    update = await answered(True, answer="Lima")
    [said] = update["passages"]
    assert (said["id"], said["source"], said["text"]) == ("model:0.1", "model", "Lima")
    assert (update["tree"]["0.1"]["how"], update["evidence"][0]["passage_ids"]) == ("known", ["model:0.1"])


@pytest.mark.parametrize("own_knowledge", [True, False])
async def test_without_an_answer_the_question_stays_open_for_the_next_module(own_knowledge: bool) -> None:
    update = await answered(own_knowledge, answer="unanswerable")
    assert set(update) == {"calls"}


async def test_where_the_budget_does_not_reach_the_question_is_settled() -> None:
    settings = RaIsfContext(model=ScriptedChatModel(replies=[]), max_tokens=1)
    update = await make_answer_question_node(own_knowledge=False)(branch(), node_runtime(settings))
    assert (update["tree"]["0.1"]["status"], update["tree"]["0.1"]["how"]) == ("unknown", "budget")


@pytest.mark.parametrize(
    ("key", "cut_off", "how"), [("0.1", False, "unsolved"), ("0.1", True, "budget"), ("0.1.1.1", True, "depth")]
)
async def test_why_a_question_is_given_up(key: str, cut_off: bool, how: str) -> None:
    update = await give_up(branch(key, cut_off=cut_off), node_runtime(RaIsfContext(max_depth=2)))
    assert update["tree"][key]["how"] == how
