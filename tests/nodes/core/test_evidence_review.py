"""Which review a way leads to, and what a node reads after it; no model is asked."""

from collections.abc import Mapping
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START
from langgraph.types import Command

from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.state import Candidates, Context, MethodState
from support.node_inputs import passage

THREAD: Any = {"configurable": {"thread_id": "1"}}


@with_passage_review("candidates")
async def read(state: MethodState) -> Mapping[str, Any]:
    return {"asked": [key for each in state["candidates"] for key in each["passage_ids"]]}


async def begin(_state: MethodState, runtime: Any) -> Mapping[str, Any]:
    found = [Candidates(query="q", passage_ids=["a", "b"], scores=[2.0, 1.0])]
    settings = runtime.context.model_dump(mode="json")
    return {"settings": settings, "candidates": found, "passages": [passage("a"), passage("b")], "asked": []}


WAYS: list[tuple[Any, Any]] = [(True, {True: "other", False: END}), (["other"], ["other"]), ("on", {"on": "other"})]


def graph(way: Any, ends: Any) -> Any:
    builder = MethodGraph(MethodState, Context)
    builder.add_node("prepare", begin)
    builder.add_node("read", read)
    builder.add_node("other", read)
    builder.add_conditional_edges("prepare", lambda _: way, ends)
    builder.chain("other", "read", END)
    return builder.add_edge(START, "prepare").compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize(("way", "ends"), WAYS)
def test_every_kind_of_way_leads_to_the_review_of_its_end(way: Any, ends: Any) -> None:
    run, settings = graph(way, ends), Context(review_evidence=True)
    result = run.invoke({"question": "Who?"}, THREAD, context=settings)
    assert run.get_state(THREAD).next == ("review_passages_other",)
    assert [each["id"] for each in result["__interrupt__"][0].value["evidence"]] == ["a", "b"]
    result = run.invoke(Command(resume=["b"]), THREAD, context=settings)
    assert run.get_state(THREAD).next == ("review_passages",)
    assert [each["id"] for each in result["__interrupt__"][0].value["evidence"]] == ["b"]
    assert run.invoke(Command(resume=True), THREAD, context=settings)["asked"] == ["b"]
