import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import example, given, settings

from hopgraph.state import Passage, StepEvent
from hopgraph.tools.apps.runs.run_tree import group_paragraphs, limit_nodes
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.apps.server.page.conversation_html import picture
from support.hostile_text import ANY_TEXT
from support.pictures import SVG, check_layout
from support.recorded_runs import QUESTION, all_runs, recorded
from support.step_events import sparse_event


def drawn(html: str) -> list[ET.Element]:
    """Return the path to the answer, if there is one, and the complete tree."""
    return list(ET.fromstring(html).iter(f"{SVG}svg"))  # noqa: S314 - what we wrote ourselves


def parsed(html: str) -> ET.Element:
    return drawn(html)[-1]


def event(kind: str, step: int, **data: Any) -> StepEvent:
    return sparse_event(kind, data, step=step)


def large_run(count: int) -> list[StepEvent]:
    """Return a tree of this many paragraphs with three children each, the last of which is cited."""
    nodes = [
        {
            "id": f"n{number}",
            "parent": f"n{(number - 1) // 3}" if number else "0",
            "passage_ids": [f"p{number}"],
            "titles": [f"Title {number}"],
        }
        for number in range(count)
    ]
    reviews = [
        event("reviewed", 2 + number, **node, verdict="accept" if number == count - 1 else "search", analysis="a" * 300)
        for number, node in enumerate(nodes)
    ]
    cited = [{"passage_id": f"p{count - 1}", "title": "T", "quote": "q"}]
    end = event("answered", count + 2, answer="A", stop_reason="answered", citations=cited)
    return [event("grown", 1, nodes=nodes), *reviews, end]


@pytest.mark.parametrize(("method", "variant"), all_runs())
def test_every_methods_narrow_picture_has_its_texts_inside_cards(method: str, variant: int) -> None:
    events, passages, answer = recorded(method, variant)
    for svg in drawn(picture(QUESTION, events, {each["id"]: each for each in passages})):
        assert float(svg.get("viewBox", "").split()[2]) <= 340
        assert svg.get("role") == "img"
        assert (f"Answer: {answer}" if answer else "No answer") in svg.get("aria-label", "")
        check_layout(svg)


def test_without_events_there_is_no_picture() -> None:
    assert picture("Q?", [], {}) == ""


def test_a_running_turn_has_a_picture() -> None:
    events, _, _ = recorded("ra_isf")
    counts = (1, 4, len(events))
    sizes = [len(list(parsed(picture(QUESTION, events[:count], {})).iter(f"{SVG}rect"))) for count in counts]
    assert sizes[0] < sizes[-1]
    assert sizes == sorted(sizes)


def test_a_picture_has_no_style_element_and_no_ids() -> None:
    events, _, _ = recorded("tree_of_reviews")
    html = picture(QUESTION, events, {})
    assert "<style" not in html
    assert " id=" not in html  # a page may have several pictures


def test_an_untitled_passage_is_labeled_by_its_first_words() -> None:
    found = Passage(id="p7", title="", text="Rain falls in Bergen. " * 20, score=1, source="s", hop=1)
    events = [
        event("query", 1, query="Q?", why=""),
        event("retrieved", 2, query="Q?", passage_ids=["p7"], titles=[""], scores=[1.0]),
    ]
    assert "Rain falls in Bergen." in picture("Q?", events, {"p7": found})
    assert ">p7<" in picture("Q?", events, {})


@given(ANY_TEXT)
@example("\ufffe\uffff")
@settings(max_examples=60)
def test_hostile_text_is_only_text(text: str) -> None:
    evil = f'{text}</text></svg><script>alert(1)</script><img src=x onerror="alert(1)">"\'&'
    nodes = [{"id": "n1", "parent": "0", "passage_ids": [evil], "titles": [evil]}]
    events = [event("grown", 1, nodes=nodes), event("expanded", 2, id="n1", query=evil)]
    svg = parsed(picture(evil, events, {evil: Passage(id=evil, title=evil, text=evil, score=0, source="", hop=1)}))
    tags = {each.tag.removeprefix(SVG) for each in svg.iter()}
    assert tags <= {"svg", "title", "rect", "text", "g", "circle", "path", "polygon"}
    attributes = {name for each in svg.iter() for name in each.attrib}
    assert not {name for name in attributes if name.startswith("on") or name in ("href", "src")}


def test_a_large_run_shows_the_path_to_the_answer_and_folds_the_rest() -> None:
    html = picture("Q?", large_run(500), {})
    assert len(html) < 200_000
    way, whole = drawn(html)
    assert len(list(way.iter(f"{SVG}rect"))) == 8  # the question, and 7 on the path: 499, 166, 55, 18, 5, 1, 0
    assert len(list(whole.iter(f"{SVG}polygon"))) == 7
    assert re.search(r">\d+ more<", html)
    assert html.index("Title 499") < html.index("<summary>The whole search: 493 more</summary>")
    assert "<details" not in picture("Q?", large_run(500)[:-1], {})


def test_a_large_text_is_cut() -> None:
    html = picture("word " * 2_000_000, [event("query", 1, query="x" * 10_000_000, why="")], {})
    assert len(html) < 20_000


def test_folded_parts_show_how_many_items_they_hide() -> None:
    root = group_paragraphs(build_tree("Q?", large_run(500)).root, titles=None)

    def nodes(node: Any) -> int:
        return 1 + sum(nodes(below) for below in node.children)

    def left_out(node: Any) -> int:
        own = int(node.text.split()[0]) if node.word == "left out" else 0
        return own + sum(left_out(below) for below in node.children)

    def marks(node: Any) -> int:
        return (node.word == "left out") + sum(marks(below) for below in node.children)

    before = nodes(root)
    small = limit_nodes(root, 40)
    assert nodes(small) - marks(small) == 40
    assert left_out(small) == before - 40
    assert nodes(root) == before
    assert limit_nodes(root, before) is root
    assert nodes(limit_nodes(root, 1)) == 2
