"""The best answer that the hops so far allow."""

import json
from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.read_hop import accept_last_answer, last_answer, make_best_answer_node
from hopgraph.state.baselines import LeastToMostContext
from hopgraph.state.hops import Hop
from support.node_inputs import evidence, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


def hops(*answers: str) -> list[Hop]:
    made: list[Any] = [{**open_hop(number, "Who?"), "answer": answer} for number, answer in enumerate(answers, start=1)]
    return made


def ending(*answers: str, reason: str | None = None) -> Any:
    pieces = [evidence(1, "s", "a")]
    state = {
        "question": "Where?",
        "hops": hops(*answers),
        "candidates": [],
        "passages": [],
        "knowledge": [],
        "evidence": pieces,
    }
    return {**state, "stop_reason": reason, **spent()}


def test_the_last_answer_is_that_of_the_latest_hop_with_one() -> None:
    assert last_answer(hops("Ada", "Lima", "")).answer == "Lima"
    assert last_answer(hops("")).answer == last_answer([]).answer == "unanswerable"


@pytest.mark.parametrize(
    ("reply", "settings", "answer", "reason"),
    [
        (json.dumps({"answer": "Oslo"}), {}, "Oslo", "max_iterations"),
        ("what?", {"parse_retries": 0}, "Lima", "max_iterations"),
        ("", {"max_tokens": 1}, "Lima", "max_iterations"),
    ],
)
async def test_the_last_hops_answer_is_the_fallback(
    reply: str, settings: dict[str, Any], answer: str, reason: str
) -> None:
    runtime: Any = node_runtime(LeastToMostContext(model=ScriptedChatModel(replies=[reply]), **settings))
    update = await make_best_answer_node()(ending("Ada", "Lima", "", reason="max_iterations"), runtime)
    assert (update["answer"], update["stop_reason"], update["used"]) == (answer, reason, ["1.1.1"])


async def test_the_last_answer_is_accepted_without_a_call() -> None:
    runtime: Any = node_runtime(LeastToMostContext(model=ScriptedChatModel(replies=[]), answer_type="yes_no"))
    assert (await accept_last_answer(ending("Yes, since …"), runtime))["answer"] == "yes"
    update = await accept_last_answer(ending("Lima"), runtime)
    assert (update["answer"], update["evidence"], update["stop_reason"]) == ("", [], "unanswerable")
