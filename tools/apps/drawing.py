"""Graphs as SVG pictures that stand alone: no script, no font to load, their own background; and any picture as PNG."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from langchain_core.runnables.graph import Edge, Graph

from hopgraph.state import SettingsError
from hopgraph.tools.io.optional_packages import require

MARGIN = 26.0
"""Around a picture's content."""
_TITLE_HEIGHT = 44.0
_LEAST_WIDTH = 76.0
_ENDS = {"__start__": "start", "__end__": "end"}
_FONTS = (
    "Segoe UI, Helvetica Neue, Arial, DejaVu Sans, Liberation Sans, Noto Sans, Roboto, Ubuntu, Cantarell, FreeSans, "
    "Open Sans, Lato, sans-serif"
)
"""Sans-serif fonts of common systems. The renderer of PNG drops a text if none of them is installed."""
_FRAME_STYLE = """
.background{fill:#ffffff;stroke:#d0d7de}
.title{font-size:17px;font-weight:600;fill:#1f2328}
"""
_STYLE = """
.box{fill:#eef4ff;stroke:#4f7ac7;stroke-width:1.4}
.end{fill:#2d3748;stroke:#2d3748}
.name{font-size:14px;font-weight:500;fill:#1b2a49;text-anchor:middle}
.end-name{font-size:13px;font-weight:500;fill:#ffffff;text-anchor:middle}
.edge{fill:none;stroke:#57606a;stroke-width:1.5;stroke-linejoin:round}
.choice{stroke-dasharray:5 4}
.loop{stroke:#b4540a}
.label{font-size:12px;fill:#3d444d;text-anchor:middle}
.loop-label{fill:#9a4806}
.plate{fill:#ffffff}
"""
_ARROWS = "<defs>{}</defs>".format(
    "".join(
        f'<marker id="{key}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0 1L10 5L0 9z" fill="{colour}"/></marker>'
        for key, colour in (("arrow", "#57606a"), ("loop-arrow", "#b4540a"))
    )
)
_Point = tuple[float, float]
_GAP_X, _GAP_Y = 24.0, 46.0
"""Free space between lanes, and between boxes; pixels."""
_BOX_HEIGHT = 38.0
_PORT = 14.0  # between two edges along the side of a box, so that no arrowhead lies over another edge


@dataclass(frozen=True)
class _Box:
    """Of a node; pixels. Its centre is at x = 0."""

    top: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        return self.top + self.height


@dataclass(frozen=True)
class _Route:
    """Of an edge."""

    points: list[_Point]
    """The ends of its upright and level pieces, from source to target."""
    label: _Point
    """The centre of its label."""
    leads_up: bool
    """Or from a node to itself. Nodes are listed in reading order, so such an edge closes a loop."""


def frame_svg(
    parts: Iterable[str], heading: str, width: float, height: float, *, style: str, title: str = "", about: str = ""
) -> str:
    """Return a picture of parts that are SVG already, with a heading; `title` and `about` are for screen readers."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" font-family="{_FONTS}" role="img">',
            f"<title>{escape(title or heading)}</title>",
            *([f"<desc>{escape(about)}</desc>"] if about else []),
            f"<style>{_FRAME_STYLE}{style}</style>",
            f'<rect class="background" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="10"/>',
            f'<text class="title" x="{MARGIN:.0f}" y="{MARGIN + 12:.0f}">{escape(heading)}</text>',
            *parts,
            "</svg>\n",
        ]
    )


def draw_svg(graph: Graph, title: str) -> str:
    """Draw a graph from top to bottom; what leads up is on the left, and has another colour, as it closes a loop.

    Solid edges are always taken, dashed ones if a router chooses them. The same graph gives the same text.
    """
    names = {key: _ENDS.get(key, node.name) for key, node in graph.nodes.items()}
    labels = ["" if edge.data is None else str(edge.data) for edge in graph.edges]
    plates = [text_width(label, 12) + 8 if label else 0.0 for label in labels]
    widths = {key: max(text_width(name, 14) + 36, _LEAST_WIDTH) for key, name in names.items()}
    boxes, routes, left, right = _place(widths, graph.edges, plates)
    placed = right - left
    width = max(placed, text_width(title, 17)) + 2 * MARGIN
    height = max(box.bottom for box in boxes.values()) + 2 * MARGIN + _TITLE_HEIGHT
    parts = [
        _ARROWS,
        f'<g transform="translate({(width - placed) / 2 - left:.1f} {MARGIN + _TITLE_HEIGHT:.1f})">',
        *(_draw_edge(route, conditional=edge.conditional) for edge, route in zip(graph.edges, routes, strict=True)),
        *(_draw_label(*each) for each in zip(labels, routes, plates, strict=True) if each[0]),
        *(_draw_box(box, names[key], end=key in _ENDS) for key, box in boxes.items()),
        "</g>",
    ]
    return frame_svg(parts, title, width, height, style=_STYLE)


def _draw_edge(route: _Route, *, conditional: bool) -> str:
    classes = "edge" + (" choice" if conditional else "") + (" loop" if route.leads_up else "")
    marker = "loop-arrow" if route.leads_up else "arrow"
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in route.points)
    return f'<path class="{classes}" d="M{path}" marker-end="url(#{marker})"/>'


def _draw_label(label: str, route: _Route, width: float) -> str:
    x, y = route.label
    classes = "label loop-label" if route.leads_up else "label"
    return (
        f'<rect class="plate" x="{x - width / 2:.1f}" y="{y - 9:.1f}" width="{width:.1f}" height="18" rx="4"/>'
        f'<text class="{classes}" x="{x:.1f}" y="{y + 4:.1f}">{escape(label)}</text>'
    )


def _draw_box(box: _Box, name: str, *, end: bool) -> str:
    kind, text, radius = ("box end", "end-name", 19) if end else ("box", "name", 9)
    return (
        f'<rect class="{kind}" x="{-box.width / 2:.1f}" y="{box.top:.1f}" '
        f'width="{box.width:.1f}" height="{box.height:.0f}" rx="{radius}"/>'
        f'<text class="{text}" x="0" y="{box.top + box.height / 2 + 5:.1f}">{escape(name)}</text>'
    )


_SCALE, _MOST_PIXELS = 2, 100_000_000
"""Pixels to each of the picture's units, so that small text stays sharp; and altogether."""
_PROBE = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{_FONTS}" width="20" height="20">{{}}</svg>'


def render_png(svg: str) -> bytes:
    """Return the PNG of one of our pictures at twice its size, or smaller where that would exceed 100 megapixels."""
    resvg = require("resvg_py", "png")
    empty, letter = (_PROBE.format(text) for text in ("", '<text x="2" y="16">A</text>'))
    if resvg.svg_to_bytes(svg_string=empty) == resvg.svg_to_bytes(svg_string=letter):
        raise SettingsError(
            "no known font is installed, so a PNG would have no text; install one (such as DejaVu Sans), "
            "or write the picture as svg"
        )
    width, height = map(float, svg.partition('viewBox="0 0 ')[2].partition('"')[0].split())
    scale = min(_SCALE, (_MOST_PIXELS / (width * height)) ** 0.5)
    return bytes(resvg.svg_to_bytes(svg_string=svg, width=round(width * scale)))


def _place(
    widths: Mapping[str, float], edges: Sequence[Edge], label_widths: Sequence[float]
) -> tuple[dict[str, _Box], list[_Route], float, float]:
    """Return boxes by node and the edges' routes, from y = 0 on, and the left and the right end.

    An edge to the next node leads straight down; every other has a lane, on the right if it leads down, else left.
    """
    row = {key: number for number, key in enumerate(widths)}
    sides = list(_sides(row, edges))
    ports = _ports(row, edges, sides)
    boxes: dict[str, _Box] = {}
    top = 0.0
    for key, width in widths.items():
        most = max((len(ends) for (of, _), ends in ports.items() if of == key), default=0)
        boxes[key] = _Box(top, width, max(_BOX_HEIGHT, _PORT * (most + 1)))
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
    routes: list[_Route] = []
    for number, (edge, side, x) in enumerate(zip(edges, sides, xs.values(), strict=True)):
        source, target = boxes[edge.source], boxes[edge.target]
        below = source.bottom + _GAP_Y / 2
        if side == 0:
            routes.append(_Route([(0.0, source.bottom), (0.0, target.top)], (0.0, below), leads_up=False))
            continue
        y, end = ys[number, True], ys[number, False]
        points = [(side * source.width / 2, y), (x, y), (x, end), (side * target.width / 2, end)]
        beside = below if side > 0 else source.top - _GAP_Y / 2
        routes.append(_Route(points, (x, (y + end) / 2 if source is target else beside), leads_up=side < 0))
    return boxes, routes, -reach[-1], reach[1]


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
    lanes: list[list[int]] = [[] for _ in numbers]
    for number, (upper, lower) in sorted(spans.items(), key=lambda each: each[1][1] - each[1][0]):
        free = (lane for lane in lanes if all(spans[n][1] < upper or lower < spans[n][0] for n in lane))
        next(free).append(number)
    return [lane for lane in lanes if lane]


_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[] "), frozenset("mwMWQOGDHNU@%")
_BOLD = 1.18


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a text in a font of this size, estimated on the large side, as the font is not known."""
    return sum(map(_ems, text)) * size * (_BOLD if bold else 1.0)


def _ems(char: str) -> float:
    if char in _NARROW:
        return 0.36
    if char in _WIDE:
        return 0.92
    if char.isascii():
        return 0.72 if char.isupper() else 0.62
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):  # marks stand above or below the letter before
        return 0.0
    if unicodedata.east_asian_width(char) in "WF" or char.isupper():
        return 1.05
    return 0.78


def wrap_text(text: str, size: float, width: float, *, most: int, bold: bool = False) -> list[str]:
    """Return a text broken into lines of at most this width, at least one; a longer word is broken, too.

    A text that needs more than `most` lines ends in `…`.
    """
    ems = width / size / (_BOLD if bold else 1.0)
    lines = list[str]()
    while len(lines) < most:
        end = _fitting(text, ems)
        if end == len(text):
            return [*lines, text]
        end = text.rfind(" ", 1, end + 1) if " " in text[1 : end + 1] else max(end, 1)
        lines.append(text[:end])
        text = text[end:].lstrip(" ")
    last = lines.pop()
    return [*lines, f"{last[: _fitting(last, ems - _ems('…'))].rstrip()}…"] if text else [*lines, last]


def _fitting(text: str, ems: float) -> int:
    """Return how many of a text's characters have room."""
    widths = accumulate(map(_ems, text))
    return next((count for count, wide in enumerate(widths) if wide > ems), len(text))
