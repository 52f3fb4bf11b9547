"""The layout of a drawing: x and y of boxes, labels and the points of edges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import fmean

from hopgraph.tools.apps.drawing.layers import Key, Layers

Point = tuple[float, float]
GAP_X, GAP_Y = 28.0, 48.0
"""Free space between neighbours of a row, and between rows; pixels."""
_STRAIGHT = 11.0
"""An edge leaves and meets a box straight for so long, as long as an arrowhead; pixels."""
_SWEEPS = 80
_SLIGHT = 9.0
"""A bend of so little is made straight; less than a third of GAP_X, so nothing touches."""
_LOOP = 34.0
"""How far an edge from a node to itself reaches out."""


@dataclass(frozen=True)
class Size:
    """Of a box, a label or a stop; pixels."""

    width: float
    height: float
    beside: float = 0.0
    """Room that is kept free left and right, for an edge from a box to itself."""

    @property
    def room(self) -> float:
        """The whole width that is taken."""
        return self.width + 2 * self.beside


@dataclass(frozen=True)
class Placed:
    """Centres of everything, and the points that each edge goes through."""

    centres: dict[Key, Point]
    routes: list[list[Point]]
    """From the upper end to the lower. Between the 1st and 2nd point, the 3rd and 4th, … the edge is straight and
    upright; between the others it bends."""
    width: float
    height: float


def place(layers: Layers, sizes: Mapping[Key, Size]) -> Placed:
    """Return places from (0, 0) on: nothing overlaps, and edges run as straight as the order of the rows allows."""
    xs, y = _columns(layers, sizes), 0.0
    centres: dict[Key, Point] = {}
    bands: dict[Key, Point] = {}
    for row in layers.rows:
        height = max(sizes[key].height for key in row)
        centres.update((key, (xs[key], y + height / 2)) for key in row)
        bands.update((key, (y, y + height)) for key in row)
        y += height + GAP_Y
    routes = _routes(layers, sizes, centres, bands)
    return Placed(centres, routes, max(xs[key] + sizes[key].room / 2 for key in xs), y - GAP_Y)


def _columns(layers: Layers, sizes: Mapping[Key, Size]) -> dict[Key, float]:
    """Return the centres' x: each row as near to its neighbours' as its order and the sizes allow."""
    links = _weighted_links(layers)
    xs: dict[Key, float] = {}
    for row in layers.rows:
        x = 0.0
        for key in row:
            xs[key] = x + sizes[key].room / 2
            x += sizes[key].room + GAP_X
        for key in row:
            xs[key] -= x / 2
    for sweep in range(_SWEEPS):
        for row in layers.rows if sweep % 2 == 0 else reversed(layers.rows):
            # A box or a stop that nothing pulls at stays where it is, but gives way to others.
            pulls = [links.get(key) or [(key, 0.1)] for key in row]
            weights = [sum(weight for _, weight in pull) for pull in pulls]
            means = zip(pulls, weights, strict=True)
            wanted = [sum(xs[other] * weight for other, weight in pull) / total for pull, total in means]
            steps = [(sizes[one].room + sizes[other].room) / 2 + GAP_X for one, other in pairwise(row)]
            xs.update(zip(row, apart(wanted, weights, steps), strict=True))
    _straighten(layers, xs)
    left = min((xs[key] - sizes[key].room / 2 for key in xs), default=0.0)
    return {key: round(x - left, 1) for key, x in xs.items()}


def _straighten(layers: Layers, xs: dict[Key, float]) -> None:
    """Straighten edges that are nearly straight, by too little to touch anything."""
    for path in layers.paths:
        stops = path[1:-1]
        for group in (stops, path[:1] + path[-1:] if len(path) == 2 else []):
            middle = fmean(xs[key] for key in group) if group else 0.0
            if all(abs(xs[key] - middle) <= _SLIGHT for key in group):
                xs.update((key, middle) for key in group)


def _weighted_links(layers: Layers) -> dict[Key, list[tuple[Key, float]]]:
    """Return what pulls at each box or stop, and how strongly.

    All stops of an edge pull at one another, so that a long edge becomes straight as a whole; then come boxes
    that an edge joins directly.
    """
    links: dict[Key, list[tuple[Key, float]]] = {}
    for path in layers.paths:
        stops = path[1:-1]
        for stop in stops:
            links[stop] = [(other, 8.0) for other in stops if other != stop]
        for one, other in {(path[0], path[1]), (path[-1], path[-2])} if len(path) > 1 else ():
            weight = 1.0 if stops else 3.0
            links.setdefault(one, []).append((other, weight))
            links.setdefault(other, []).append((one, weight))
    return links


def apart(wanted: Sequence[float], weights: Sequence[float], steps: Sequence[float]) -> list[float]:
    """Place points in a given order, at least `steps` apart, with the least weighted square distance to `wanted`.

    Pooled neighbours (Ayer and others, 1955): points that are too close become a block at its mean.
    """
    offsets = list(accumulate(steps, initial=0.0))
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for target, weight, shift in zip(wanted, weights, offsets, strict=False):
        block = (target - shift, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            mean, heavier, count = blocks.pop()
            total = heavier + block[1]
            block = ((mean * heavier + block[0] * block[1]) / total, total, count + block[2])
        blocks.append(block)
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + shift for mean, shift in zip(means, offsets, strict=False)]


def _routes(
    layers: Layers,
    sizes: Mapping[Key, Size],
    centres: Mapping[Key, Point],
    bands: Mapping[Key, Point],
) -> list[list[Point]]:
    leave, enter = _ports(layers, sizes, centres)
    routes: list[list[Point]] = []
    for number, path in enumerate(layers.paths):
        first, last = path[0], path[-1]
        if len(path) == 1:
            right, y = centres[first][0] + sizes[first].width / 2, centres[first][1]
            routes.append([(right, y - 8), (right + _LOOP, y), (right, y + 8)])
            continue
        start, end = leave[number], enter[number]
        inner = [centres[stop][0] for stop in path[1:-1]]
        after, before = (*inner, end)[0], (start, *inner)[-1]
        start = after if abs(start - after) <= _SLIGHT else start
        end = before if abs(end - before) <= _SLIGHT else end
        route = [(start, centres[first][1] + sizes[first].height / 2), (start, bands[first][1] + _STRAIGHT)]
        for stop in path[1:-1]:
            route += [(centres[stop][0], bands[stop][0]), (centres[stop][0], bands[stop][1])]
        route += [(end, bands[last][0] - _STRAIGHT), (end, centres[last][1] - sizes[last].height / 2)]
        routes.append(route)
    return routes


def _ports(
    layers: Layers, sizes: Mapping[Key, Size], centres: Mapping[Key, Point]
) -> tuple[dict[int, float], dict[int, float]]:
    """Choose where each edge touches its upper and its lower box, in the order of where they come from."""
    sides: dict[tuple[Key, int], list[tuple[float, int]]] = {}
    for number, path in enumerate(layers.paths):
        if len(path) > 1:
            sides.setdefault((path[0], 1), []).append((centres[path[1]][0], number))
            sides.setdefault((path[-1], 0), []).append((centres[path[-2]][0], number))
    leave: dict[int, float] = {}
    enter: dict[int, float] = {}
    for (key, below), edges in sides.items():
        room = sizes[key].width - 24
        step = min(room / max(len(edges) - 1, 1), 28.0)
        for index, (_, number) in enumerate(sorted(edges)):
            x = centres[key][0] + (index - (len(edges) - 1) / 2) * step
            (leave if below else enter)[number] = round(x, 1)
    return leave, enter
