"""What a notebook shows: every node's writes in one order, and no markup that a run brought."""

import re

import pytest

from hopgraph.graphs import METHODS
from hopgraph.state.events import event_order
from hopgraph.tools.apps.notebook import Walk, draw, walk
from support import sixth_method

HOSTILE = "<script>alert(1)</script>"
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"


def test_texts_of_a_run_are_escaped() -> None:
    quote = {"passage_id": HOSTILE, "title": HOSTILE, "quote": HOSTILE}
    shown = Walk("m", "q", [], {"answer": HOSTILE, "citations": [quote]}, [(HOSTILE, {HOSTILE: HOSTILE})])
    for html in (shown.steps().html, shown.answer().html):
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_a_hostile_question_is_escaped_in_the_tree() -> None:
    assert "<script" not in walk("one_step", f"Who painted {HOSTILE}?").tree().svg


def test_a_method_is_drawn() -> None:
    assert draw("migres").mermaid == METHODS["migres"].graph.get_graph().draw_mermaid()


@pytest.mark.parametrize("method", ["blendfilter", "genground", "tree_of_reviews"])
def test_the_same_run_is_shown_the_same_way(method: str) -> None:
    runs = [walk(method, QUESTION) for _ in range(4)]
    assert {each.steps().html for each in runs} == {runs[0].steps().html}
    assert {each.tree().svg for each in runs} == {runs[0].tree().svg}
    assert runs[0].events == sorted(runs[0].events, key=event_order)


def test_nodes_of_subgraphs_take_the_place_of_their_subgraph() -> None:
    nodes = [node for node, _ in walk("tree_of_reviews", QUESTION).writes]
    assert nodes[:4] == ["prepare", "retrieve", "prune", "review"]
    assert nodes[-1] == "finish"
    assert "grow" not in nodes


def test_a_walk_ends_as_the_method_does() -> None:
    ended = METHODS["migres"].graph.invoke({"question": QUESTION})
    ran = walk("migres", QUESTION)
    assert (ran.result["answer"], ran.result["citations"]) == (ended["answer"], ended["citations"])


def test_a_graph_of_ones_own_is_drawn_and_walked() -> None:
    ran = walk(sixth_method.graph, QUESTION, sixth_method.Context())
    assert re.search(r"<title[^>]*>[^<]*Trees of missing information", ran.tree().svg)
    assert "review" in {node for node, _ in ran.writes}
    assert draw(sixth_method.graph).mermaid == sixth_method.graph.get_graph().draw_mermaid()


def test_no_picture_or_card_repeats_its_content_as_text() -> None:
    run = walk("one_step", QUESTION)
    assert [repr(each) for each in (draw("migres"), run.tree(), run.steps())] == ["Diagram()", "Picture()", "Card()"]
