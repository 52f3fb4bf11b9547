"""Hops as prompts show them, and how an answer rests on them."""

from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import (
    asks_whole_question,
    calls_after_hop,
    evidence_of_hops,
    open_hop,
)
from hopgraph.state import Context
from hopgraph.state.genground import GengroundContext
from hopgraph.state.hops import Hop
from support.node_inputs import draft, evidence


def hop(number: int, question: str, **fields: Any) -> Hop:
    made: Any = {**open_hop(number, question), **fields}
    return made


@pytest.mark.parametrize(
    ("question", "settings", "calls"),
    [("Who?", {}, 1), ("where", {}, 0), ("Who?", {"deduction": False}, None)],
)
def test_calls_to_leave_over_after_a_hop(question: str, settings: dict[str, Any], calls: int | None) -> None:
    assert asks_whole_question(hop(1, question), "Where?") is (question == "where")
    assert calls_after_hop(hop(1, question), "Where?", GengroundContext(**settings)) == calls


def test_an_answer_rests_on_the_evidence_of_all_hops() -> None:
    hops = [hop(1, "Who?", answer="Ada", grounded=True), hop(2, "Where?", answer="Lima"), hop(3, "When?")]
    first, own = evidence(1, "s"), evidence(2, "t")
    state: Any = {"hops": hops, "evidence": [first]}
    reading = evidence_of_hops(draft("Lima", "", own), state, Context())
    assert (reading["reasoning"], reading["evidence"]) == ("Who? Ada; Where? Lima (not grounded)", [first, own])
    assert evidence_of_hops(draft("", "why"), state, Context()) == draft("", "why")
