"""Hops as prompts show them, and how an answer rests on them."""

from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import (
    accept_generated,
    answered_lines,
    asks_whole_question,
    calls_after_hop,
    close_hop,
    evidence_of_hops,
    observed_excerpts,
    observed_lines,
    open_hop,
)
from hopgraph.state import Context
from hopgraph.state.baselines import DirectContext
from hopgraph.state.genground import GengroundContext
from hopgraph.state.hops import Hop
from support.node_inputs import draft, evidence, knowledge, node_runtime, passage


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


def test_a_generated_answer_is_cited_as_the_models_own() -> None:
    update = accept_generated([hop(2, "Who?", generated="Ada")], node_runtime(Context()))
    assert (update["hops"][-1]["answer"], update["hops"][-1]["grounded"]) == ("Ada", False)
    assert [(each["id"], each["source"]) for each in update["passages"]] == [("model:2", "model")]
    assert [(each["id"], each["passage_ids"]) for each in update["evidence"]] == [("2.0.1", ["model:2"])]
    assert accept_generated([hop(2, "Who?")], node_runtime(Context())).keys() == {"hops"}


def test_a_closed_hop_says_whether_its_answer_changed() -> None:
    events: list[Any] = []
    runtime = node_runtime(Context(), events)
    open_hops = [hop(1, "Who?", answer="x"), hop(2, "Where?", generated="lima!")]
    cited = [("a", "Lima."), ("b", "Yes."), ("a", "Yes.")]
    pieces: Any = [{**evidence(1, "s", key), "quote": quote} for key, quote in cited]
    closed = close_hop(open_hops, pieces, "Lima", runtime)
    assert closed[0] == open_hops[0]
    assert (closed[1]["answer"], closed[1]["grounded"], closed[1]["quote"]) == ("Lima", True, "Lima. Yes.")
    assert closed[1]["passage_ids"] == ["a", "b"]
    close_hop(open_hops, [], "Oslo", runtime)
    assert [event["data"]["changed"] for event in events] == [False, True]


def observing(hops: list[Any], *entries: Any) -> Any:
    return {"hops": hops, "knowledge": list(entries)}


def test_hops_as_lines() -> None:
    hops = [
        hop(1, "Who?", answer="Ada", quote="It was Ada.", grounded=True, passage_ids=["b", "a"], thought="First."),
        hop(2, "Where?"),
    ]
    passages = {key: passage(key) for key in ("a", "b")}
    assert answered_lines([hop(3, "When?", answer="1961")], DirectContext()) == ["When? 1961"]
    assert answered_lines([*hops, hop(3, "When?", answer="1961")], Context()) == [
        "Who? Ada (source: It was Ada.)",
        "Where? unknown",
        "When? 1961 (not grounded)",
    ]
    excerpts = observed_excerpts(observing([*hops, hop(3, "When?", passage_ids=["a"])]), passages)
    assert [each["passage_id"] for each in excerpts] == ["b", "a"]
    first = observed_excerpts(observing(hops, knowledge("the question", "a")), passages)
    assert [each["passage_id"] for each in first] == ["a", "b"]
    assert observed_lines(hops, excerpts) == [
        "Thought: First. Action: search[Who?] Observation: passages 1, 2",
        "Thought: - Action: search[Where?] Observation: passages none",
    ]


def test_an_answer_rests_on_the_evidence_of_all_hops() -> None:
    hops = [hop(1, "Who?", answer="Ada", grounded=True), hop(2, "Where?", answer="Lima"), hop(3, "When?")]
    first, own = evidence(1, "s"), evidence(2, "t")
    state: Any = {"hops": hops, "evidence": [first]}
    reading = evidence_of_hops(draft("Lima", "", own), state, Context())
    assert (reading["reasoning"], reading["evidence"]) == ("Who? Ada; Where? Lima (not grounded)", [first, own])
    assert evidence_of_hops(draft("", "why"), state, Context()) == draft("", "why")
