import itertools
import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.runnables.graph import Edge, Graph, Node

from hopgraph.graphs import METHODS, chat
from hopgraph.tools.apps.drawing import draw_svg

Run = Callable[..., Any]
SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]


def graph_of(*edges: tuple[str, str, str | None]) -> Graph:
    keys = dict.fromkeys(key for source, target, _ in edges for key in (source, target))
    return Graph(
        nodes={key: Node(key, key, None, None) for key in keys},
        edges=[Edge(source, target, label, label is not None) for source, target, label in edges],
    )


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - what we wrote ourselves


def boxes(picture: ET.Element, kind: str) -> list[Box]:
    found = [
        (float(rect.get("x", 0)), float(rect.get("y", 0)), float(rect.get("width", 0)), float(rect.get("height", 0)))
        for rect in picture.iter(f"{SVG}rect")
        if kind in rect.get("class", "").split()
    ]
    return [(x, y, x + width, y + height) for x, y, width, height in found]


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def points_of(path: str) -> list[tuple[float, float]]:
    """Points along a path of straight pieces, each piece at ten places."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    corners = list(zip(numbers[::2], numbers[1::2], strict=True))
    return corners[:1] + [
        (x + (to_x - x) * step / 10, y + (to_y - y) * step / 10)
        for (x, y), (to_x, to_y) in itertools.pairwise(corners)
        for step in range(1, 11)
    ]


def random_graph(seed: int) -> Graph:
    dice = random.Random(seed)
    names = ["__start__", *(f"{'step' * dice.randint(1, 3)}_{n}" for n in range(dice.randint(1, 12))), "__end__"]
    edges: list[tuple[str, str, str | None]] = [(one, other, None) for one, other in itertools.pairwise(names)]
    for number in range(dice.randint(0, 10)):
        label = dice.choice([None, "ok", "something is missing", f"<{number}> & more"])
        edges.append((dice.choice(names[1:-1]), dice.choice(names[1:]), label))
    unique = {(source, target): (source, target, label) for source, target, label in edges}
    return graph_of(*unique.values())


@given(st.integers(0, 10_000))
@settings(max_examples=60)
def test_any_graph_is_drawn_without_anything_over_anything(seed: int) -> None:
    graph = random_graph(seed)
    picture = parsed(draw_svg(graph, "Random <graph> & co"))
    nodes, plates = boxes(picture, "box"), boxes(picture, "plate")
    assert len(nodes) == len(graph.nodes)
    assert len(plates) == sum(edge.data is not None for edge in graph.edges)
    for one, other in itertools.combinations([*nodes, *plates], 2):
        assert not overlap(one, other)
    width, height = (float(value) for value in picture.get("viewBox", "").split()[2:])
    (group,) = picture.iter(f"{SVG}g")
    dx, dy = (float(number) for number in re.findall(r"-?[\d.]+", group.get("transform", "")))
    assert all(
        0 <= x0 + dx < x1 + dx <= width and 0 <= y0 + dy < y1 + dy <= height for x0, y0, x1, y1 in nodes + plates
    )
    paths = [path for path in picture.iter(f"{SVG}path") if "edge" in path.get("class", "").split()]
    assert len(paths) == len(graph.edges)
    for path in paths:
        for x, y in points_of(path.get("d", ""))[1:-1]:
            assert not any(x0 + 1 < x < x1 - 1 and y0 + 1 < y < y1 - 1 for x0, y0, x1, y1 in nodes)


@pytest.mark.parametrize("method", [*METHODS, "chat"])
def test_no_edge_runs_through_the_arrowhead_of_another(method: str) -> None:
    graph = (chat if method == "chat" else METHODS[method]).graph
    picture = parsed(draw_svg(graph.get_graph(), method))
    lines = [points_of(path.get("d", "")) for path in picture.iter(f"{SVG}path") if "edge" in path.get("class", "")]
    for number, line in enumerate(lines):
        (before_x, before_y), (x, y) = line[-2:]
        length = max(abs(x - before_x), abs(y - before_y))
        dx, dy = ((at - to) / length for at, to in ((before_x, x), (before_y, y)))
        for other in lines[:number] + lines[number + 1 :]:
            for to_x, to_y in other:
                along, aside = (to_x - x) * dx + (to_y - y) * dy, (to_x - x) * dy - (to_y - y) * dx
                assert not (abs(aside) < 6 and 0 < along < 11)


@given(st.integers(0, 10_000))
@settings(max_examples=60)
def test_edges_lead_down_right_of_the_boxes_and_up_left_of_them(seed: int) -> None:
    graph = random_graph(seed)
    row = {key: number for number, key in enumerate(graph.nodes)}
    picture = parsed(draw_svg(graph, "Random"))
    paths = [path for path in picture.iter(f"{SVG}path") if "edge" in path.get("class", "").split()]
    for edge, path in zip(graph.edges, paths, strict=True):
        (x, _), *middle, (end, _) = points_of(path.get("d", ""))
        down = row[edge.target] > row[edge.source]
        assert all(min(x, end) <= at if down else at <= max(x, end) for at, _ in middle)
        assert ("loop" in path.get("class", "").split()) == (not down)


@pytest.mark.parametrize("method", METHODS)
def test_a_drawing_shows_every_node_and_label(method: str, run: Run) -> None:
    graph = METHODS[method].graph.get_graph()
    labels = {str(edge.data) for edge in graph.edges if edge.data is not None}
    nodes = {key for key in graph.nodes if not key.startswith("__")}
    for kind in ("mermaid", "svg"):
        ran = run("draw", method, "--format", kind)
        assert (ran.code, ran.err) == (0, "")
        text = " ".join(parsed(ran.out).itertext()) if kind == "svg" else ran.out
        for name in nodes | labels:
            assert name in text
    assert run("draw", method, "--format", "svg").out == ran.out


def test_an_svg_stands_alone_and_says_what_it_is(run: Run) -> None:
    text = run("draw", "migres", "--format", "svg").out
    picture = parsed(text)
    assert picture.findtext(f"{SVG}title") == "MIGRES"
    assert len(boxes(picture, "background")) == 1
    outside = re.findall(r"(?:href|src|@import|url\((?!#))\S*|https?://\S+", text)
    assert outside == ['http://www.w3.org/2000/svg"']


def test_a_drawing_goes_to_a_file(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new" / "migres.svg"
    assert run("draw", "migres", "--format", "svg", "--out", str(out)).out == ""
    assert out.read_text(encoding="utf-8") == run("draw", "migres", "--format", "svg").out
    assert list(tmp_path.rglob("*")) == [out.parent, out]


def test_a_graph_of_one_node_can_be_drawn() -> None:
    graph = Graph(nodes={"only": Node("only", "only", None, None)}, edges=[])
    assert parsed(draw_svg(graph, "One")).tag == f"{SVG}svg"
