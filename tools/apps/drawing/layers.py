"""The layers of a drawing: the row of each box and label, and their order within it.

After Sugiyama, Tagawa and Toda (1981). Edges that close a loop are reversed. An edge that passes rows gets
a stop (a dummy node) in each of them, and a label is such a stop, so nothing is ever drawn over a box or a label.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from hopgraph.tools.apps.drawing.edges import DrawnEdge

Key = str | tuple[int, int]
"""A node's key, or (edge's number, stop's number) for a stop."""

_SWEEPS = 8


@dataclass(frozen=True)
class Layers:
    """Rows from top to bottom, each from left to right."""

    rows: list[list[Key]]
    paths: list[list[Key]]
    """For each edge, from the upper end to the lower: a node, stops, a node. One node for an edge to itself."""
    label_stops: dict[Key, str]
    """The stops that carry a label."""


def layers_of(nodes: Sequence[str], edges: Sequence[DrawnEdge]) -> Layers:
    """Return the nodes in rows; every edge but those to the same node leads from a row to a lower one."""
    downward = [(edge.target, edge.source) if edge.back else (edge.source, edge.target) for edge in edges]
    row_of = _rows(nodes, edges, downward)
    rows: list[list[Key]] = [[] for _ in range(max(row_of.values(), default=-1) + 1)]
    for node in nodes:
        rows[row_of[node]].append(node)
    paths: list[list[Key]] = []
    label_stops: dict[Key, str] = {}
    for number, (edge, (upper, lower)) in enumerate(zip(edges, downward, strict=True)):
        if upper == lower:
            paths.append([upper])
            continue
        passed = range(row_of[upper] + 1, row_of[lower])
        stops: list[Key] = [(number, stop) for stop in range(len(passed))]
        for row, stop in zip(passed, stops, strict=True):
            rows[row].append(stop)
        if edge.label:
            # Near its source, where the reader chooses.
            label_stops[stops[-1 if edge.back else 0]] = edge.label
        paths.append([upper, *stops, lower])
    return Layers(_ordered(rows, paths), paths, label_stops)


def _rows(nodes: Sequence[str], edges: Sequence[DrawnEdge], downward: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return for each node the highest row below everything that leads to it, with room for labels between."""
    row_of = dict.fromkeys(nodes, 0)
    for _ in nodes:  # the longest way has at most so many edges
        for edge, (upper, lower) in zip(edges, downward, strict=True):
            if upper != lower:
                row_of[lower] = max(row_of[lower], row_of[upper] + (2 if edge.label else 1))
    return row_of


def _ordered(rows: list[list[Key]], paths: Sequence[Sequence[Key]]) -> list[list[Key]]:
    """Order each row by where its neighbours stand, back and forth, from several beginnings.

    A beginning puts the edges' stops left and right of the nodes, each time cut elsewhere. Of all orders that
    come up the first one with the fewest crossings is taken.
    """
    links = [link for path in paths for link in pairwise(path)]
    above = _neighbours((lower, upper) for upper, lower in links)
    below = _neighbours(links)
    best, fewest, count = rows, _crossings(rows, below), len(paths)
    for turn in range(count):
        at = {key: (key[0] + turn) % count if isinstance(key, tuple) else count / 2 for row in rows for key in row}
        for order in _sweeps([sorted(row, key=at.__getitem__) for row in rows], above, below):
            if (crossings := _crossings(order, below)) < fewest:
                best, fewest = order, crossings
    return best


def _sweeps(
    rows: list[list[Key]], above: dict[Key, list[Key]], below: dict[Key, list[Key]]
) -> Iterator[list[list[Key]]]:
    for sweep in range(_SWEEPS):
        rows = [list(row) for row in rows]
        down = sweep % 2 == 0
        beside = above if down else below
        for number in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            place = {key: index for index, key in enumerate(rows[number - 1 if down else number + 1])}
            at = {
                key: fmean(place[other] for other in beside[key]) if key in beside else index
                for index, key in enumerate(rows[number])
            }
            rows[number].sort(key=at.__getitem__)
        yield rows


def _neighbours(links: Iterable[tuple[Key, Key]]) -> dict[Key, list[Key]]:
    found: dict[Key, list[Key]] = {}
    for one, other in links:
        found.setdefault(one, []).append(other)
    return found


def _crossings(rows: Sequence[Sequence[Key]], below: dict[Key, list[Key]]) -> int:
    total = 0
    for upper, lower in pairwise(rows):
        place = {key: index for index, key in enumerate(lower)}
        ends = [place[other] for key in upper for other in sorted(below.get(key, ()), key=lambda end: place[end])]
        total += sum(one > other for number, one in enumerate(ends) for other in ends[number + 1 :])
    return total
