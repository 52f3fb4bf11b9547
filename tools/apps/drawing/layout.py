"""The layout of a drawing: boxes in one column, in the graph's order, and every other edge in a lane beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.runnables.graph import Edge

Point = tuple[float, float]
_GAP_X, _GAP_Y = 24.0, 46.0
"""Free space between lanes, and between boxes; pixels."""
_BOX_HEIGHT = 38.0
_PORT = 14.0
"""Between two edges along the side of a box, so that no arrowhead lies over another edge."""


@dataclass(frozen=True)
class Box:
    """Of a node; pixels. Its centre is at x = 0."""

    top: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        """The y of its lower side."""
        return self.top + self.height


@dataclass(frozen=True)
class Route:
    """Of an edge."""

    points: list[Point]
    """The ends of its upright and level pieces, from source to target."""
    label: Point
    """The centre of its label."""
    leads_up: bool
    """Or from a node to itself. Nodes stand in the order in which people read them, so it closes a loop."""


@dataclass(frozen=True)
class Layout:
    """The places of boxes by node, and of edges in their order; from y = 0 on."""

    boxes: dict[str, Box]
    routes: list[Route]
    left: float
    right: float


def place(widths: Mapping[str, float], edges: Sequence[Edge], label_widths: Sequence[float]) -> Layout:
    """Place nodes of these widths: an edge to the next node leads straight down, others right of it, or left if up."""
    row = {key: number for number, key in enumerate(widths)}
    sides = list(_sides(row, edges))
    ports = _ports(row, edges, sides)
    boxes: dict[str, Box] = {}
    top = 0.0
    for key, width in widths.items():
        most = max((len(ends) for (of, _), ends in ports.items() if of == key), default=0)
        boxes[key] = Box(top, width, max(_BOX_HEIGHT, _PORT * (most + 1)))
        top = boxes[key].bottom + _GAP_Y
    straight = (width for width, side in zip(label_widths, sides, strict=True) if side == 0)
    inner = max([*widths.values(), *straight]) / 2
    xs, reach = dict.fromkeys(range(len(edges)), 0.0), {-1: inner, 1: inner}
    for side in reach:
        for lane in _lanes(row, edges, [number for number in xs if sides[number] == side]):
            half = max(label_widths[number] for number in lane) / 2
            xs.update((number, side * (reach[side] + _GAP_X + half)) for number in lane)
            reach[side] += _GAP_X + 2 * half
    ys = {
        end: boxes[key].top + boxes[key].height / 2 + (at - (len(ends) - 1) / 2) * _PORT
        for (key, _), ends in ports.items()
        for at, end in enumerate(ends)
    }
    routes: list[Route] = []
    for number, (edge, side, x) in enumerate(zip(edges, sides, xs.values(), strict=True)):
        source, target = boxes[edge.source], boxes[edge.target]
        below = source.bottom + _GAP_Y / 2
        if side == 0:
            routes.append(Route([(0.0, source.bottom), (0.0, target.top)], (0.0, below), leads_up=False))
            continue
        y, end = ys[number, True], ys[number, False]
        points = [(side * source.width / 2, y), (x, y), (x, end), (side * target.width / 2, end)]
        beside = below if side > 0 else source.top - _GAP_Y / 2
        routes.append(Route(points, (x, (y + end) / 2 if source is target else beside), leads_up=side < 0))
    return Layout(boxes, routes, -reach[-1], reach[1])


def _sides(row: Mapping[str, int], edges: Sequence[Edge]) -> Iterator[int]:
    """Yield 0 for the first edge to the node below, 1 for others that lead down, -1 for those that do not."""
    straight = set[str]()
    for edge in edges:
        steps = row[edge.target] - row[edge.source]
        if steps == 1 and edge.source not in straight:
            straight.add(edge.source)
            yield 0
        else:
            yield 1 if steps > 0 else -1


def _ports(
    row: Mapping[str, int], edges: Sequence[Edge], sides: Sequence[int]
) -> dict[tuple[str, int], list[tuple[int, bool]]]:
    """Return for each side of a box its edges' ends, as (number, is source), in the order that crosses least."""
    found: dict[tuple[str, int], list[tuple[bool, int, int, bool]]] = {}
    for number, (edge, side) in enumerate(zip(edges, sides, strict=True)):
        for key, other, is_source in ((edge.source, edge.target, True), (edge.target, edge.source, False)):
            if side:
                below = row[other] > row[key] or (key == other and not is_source)
                found.setdefault((key, side), []).append((below, -row[other], number, is_source))
    return {place: [end[2:] for end in sorted(ends)] for place, ends in found.items()}


def _lanes(row: Mapping[str, int], edges: Sequence[Edge], numbers: Sequence[int]) -> list[list[int]]:
    """Share out the edges of one side to lanes, short ones nearest to the boxes; in a lane no rows are shared."""
    spans = {n: sorted((row[edges[n].source], row[edges[n].target])) for n in numbers}
    lanes: list[list[int]] = []
    for number, (upper, lower) in sorted(spans.items(), key=lambda each: each[1][1] - each[1][0]):
        free = (lane for lane in lanes if all(spans[n][1] < upper or lower < spans[n][0] for n in lane))
        lane = next(free, None)
        if lane is None:
            lanes.append(lane := [])
        lane.append(number)
    return lanes
