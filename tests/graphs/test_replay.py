"""Every step of the five methods can be stopped at, and every checkpoint of a run goes on to the same answer."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from hopgraph.graphs import METHODS
from hopgraph.state import QuestionError
from support.honest import input_for, model
from support.review_worlds import QUESTION, accept, fused, reject, script, search, world
from support.walks import Script

THREAD: Any = {"configurable": {"thread_id": "1"}}
PAPERS = ["migres", "blendfilter", "genground", "ra_isf", "tree_of_reviews"]
INSIDE = {
    "tree_of_reviews": {"retrieve", "prune", "review"},
    "blendfilter": {"retrieve_blended", "take_top", "judge", "select", "unite"},
    "ra_isf": {"frontier", "solve"},
}
"""Steps at which a run must be stoppable, where a method once had, or has, a subgraph."""


def stops(graph: Any, given: Any, context: Any) -> list[str]:
    """Run from stop to stop, and list the nodes before which it stopped."""
    found: list[str] = []
    graph.invoke(given, THREAD, context=context, interrupt_before="*")
    while coming := graph.get_state(THREAD).next:
        found += coming
        assert len(found) < 200
        graph.invoke(None, THREAD, context=context, interrupt_before="*")
    return found


@pytest.mark.parametrize("name", PAPERS)
def test_every_step_is_a_stop_and_every_checkpoint_goes_on_to_the_same_answer(name: str) -> None:
    method: Any = METHODS[name]
    graph = method.build().compile(checkpointer=InMemorySaver())
    context = method.Context(model=model())
    found = stops(graph, input_for(name), context)
    assert found[0] == "prepare"
    assert found[-1] == "finish"
    assert INSIDE.get(name, set[str]()) <= set(found)
    first = graph.get_state(THREAD).values
    history = [each for each in graph.get_state_history(THREAD) if each.next and "__start__" not in each.next]
    assert {node for each in history for node in each.next} == set(found)
    for each in history:
        again = graph.invoke(None, each.config, context=context)
        assert (again["answer"], again["citations"]) == (first["answer"], first["citations"]), each.next


def said() -> Script:
    reviews = {"film": search("about film"), "film person": accept("Tallinn"), "film city": accept("Narva")}
    return script(reviews, reject(), fuse=lambda _: fused("Tallinn", 1), complete=lambda _: '{"passage": "about film"}')


def test_a_tree_of_reviews_is_forked_inside_its_tree() -> None:
    """Another query for an open path, put in by hand, grows another branch; what was reviewed before is kept."""
    method: Any = METHODS["tree_of_reviews"]
    graph = method.build().compile(checkpointer=InMemorySaver())
    asked = said()
    found = world(**{"about film": "person ships", "its town": "city", "otherwise": "film harbour"})
    context = method.Context(model=asked.model(), retriever=found)
    graph.invoke({"question": QUESTION}, THREAD, context=context)
    before = list(asked.steps)
    [searched] = [
        each for each in graph.get_state_history(THREAD) if each.next == ("retrieve",) and each.values.get("tree")
    ]
    fork = graph.update_state(searched.config, {"queries": [{"text": "its town", "why": ""}]})
    graph.invoke(None, fork, context=context)
    tree = graph.get_state(THREAD).values["tree"]
    assert [node["passage_ids"] for node in tree.values() if node["depth"] == 2] == [["city"]]
    assert asked.steps[len(before) :] == ["review", "fuse"]
    wrong = graph.update_state(searched.config, {"queries": [{"text": each, "why": ""} for each in ("a", "b")]})
    with pytest.raises(QuestionError, match="2 for the 1 paths"):
        graph.invoke(None, wrong, context=context)
