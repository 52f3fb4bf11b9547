"""The next question, the final answer, or no further hop."""

import json
from typing import Any

import pytest

from hopgraph.nodes.deduce import make_deduce_node, route_deduced
from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.hops.next_step import FollowUp, NextQuestion
from hopgraph.state.baselines import SelfAskContext
from hopgraph.state.genground import GengroundContext
from support.node_inputs import evidence, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


def deducing(reason: str | None = None) -> Any:
    hop = {**open_hop(1, "Who?"), "answer": "Ada", "grounded": True}
    pieces = [evidence(1, "Ada did.", "a")]
    return {
        "question": "Where?",
        "hops": [hop],
        "passages": [],
        "knowledge": [],
        "evidence": pieces,
        "stop_reason": reason,
        **spent(),
    }


def self_ask(reply: dict[str, Any]) -> SelfAskContext:
    return SelfAskContext(model=ScriptedChatModel(replies=[json.dumps(reply)]))


def said(question: str, answer: str = "", final: str = "") -> str:
    return json.dumps({"sub_question": question, "answer": answer, "final_answer": final})


@pytest.mark.parametrize(
    ("reply", "settings", "queries", "reason", "edge"),
    [
        (said("When?", "1961"), {}, ["When?"], None, "next question"),
        (said("WHO"), {}, [], None, "no further hop"),
        (said("When?"), {"max_hops": 1}, [], "max_iterations", "no further hop"),
        (said("", final="Lima"), {}, [], "answered", "finished"),
        ("what?", {"parse_retries": 0}, ["Where?"], None, "next question"),
        ("", {"max_tokens": 1}, [], "budget", "no further hop"),
    ],
)
async def test_what_follows_a_deduction(
    reply: str, settings: dict[str, Any], queries: list[str], reason: str | None, edge: str
) -> None:
    runtime: Any = node_runtime(GengroundContext(model=ScriptedChatModel(replies=[reply]), **settings))
    update = await make_deduce_node("deduce", NextQuestion)(deducing(), runtime)
    assert [query["text"] for query in update["queries"]] == queries
    assert update.get("stop_reason") == reason
    after: Any = {"stop_reason": None, **update}
    assert route_deduced(after) == edge


@pytest.mark.parametrize(("answer", "generated"), [("1961", "1961"), ("I don't know.", ""), ("unanswerable", "")])
async def test_a_hop_keeps_its_immediate_answer_unless_it_says_nothing(answer: str, generated: str) -> None:
    runtime: Any = node_runtime(GengroundContext(model=ScriptedChatModel(replies=[said("When?", answer)])))
    update = await make_deduce_node("deduce", NextQuestion)(deducing(), runtime)
    assert [(hop["number"], hop["generated"]) for hop in update["hops"]] == [(1, ""), (2, generated)]


async def test_a_hop_keeps_the_thought_that_comes_before_its_question() -> None:
    reply = {"thought": "Ada did it.", **json.loads(said("When?", "1961"))}
    runtime: Any = node_runtime(GengroundContext(model=ScriptedChatModel(replies=[json.dumps(reply)] * 2)))
    update = await make_deduce_node("deduce", NextQuestion)(deducing(), runtime)
    assert (update["hops"][-1]["thought"], update["queries"][0]["why"]) == ("Ada did it.", "Ada did it.")
    followed = await make_deduce_node("follow_up", FollowUp)(deducing(), node_runtime(self_ask(reply)))
    assert (followed["hops"][-1]["thought"], followed["hops"][-1]["generated"]) == ("", "")


async def test_a_final_answer_rests_on_the_hops() -> None:
    runtime: Any = node_runtime(GengroundContext(model=ScriptedChatModel(replies=[said("", final="Lima")])))
    update = await make_deduce_node("deduce", NextQuestion)(deducing(), runtime)
    assert (update["answer"], update["used"], update["explanation"]) == ("Lima", ["1.1.1"], "Who? Ada")


async def test_after_the_budget_nothing_is_asked() -> None:
    runtime: Any = node_runtime(GengroundContext(model=ScriptedChatModel(replies=[])))
    assert await make_deduce_node("deduce", NextQuestion)(deducing("budget"), runtime) == {"queries": []}
