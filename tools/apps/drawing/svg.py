"""A graph as an SVG picture that stands alone: no script, no font to load, its own background."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from itertools import pairwise

from langchain_core.runnables.graph import Graph

from hopgraph.tools.apps.drawing.edges import DrawnEdge, edges_of, is_end, node_name
from hopgraph.tools.apps.drawing.layers import Key, Layers, layers_of
from hopgraph.tools.apps.drawing.layout import Placed, Point, Size, place
from hopgraph.tools.apps.drawing.measure import text_width

_MARGIN, _TITLE_HEIGHT = 28.0, 44.0
_BOX_HEIGHT, _LABEL_HEIGHT = 38.0, 20.0
_LEAST_WIDTH = 76.0
_PORT = 26.0
"""Room for an edge along the side of a box, so that no arrowhead lies over another edge."""
_STYLE = """
.background{fill:#ffffff;stroke:#d0d7de}
.title{font:600 17px FONT;fill:#1f2328}
.box{fill:#eef4ff;stroke:#4f7ac7;stroke-width:1.4}
.end{fill:#2d3748;stroke:#2d3748}
.name{font:500 14px FONT;fill:#1b2a49;text-anchor:middle}
.end-name{font:500 13px FONT;fill:#ffffff;text-anchor:middle}
.edge{fill:none;stroke:#57606a;stroke-width:1.5}
.choice{stroke-dasharray:5 4}
.loop{stroke:#b4540a}
.label{font:400 12px FONT;fill:#3d444d;text-anchor:middle}
.loop-label{fill:#9a4806}
.plate{fill:#ffffff}
""".replace("FONT", "'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif")


def draw_svg(graph: Graph, title: str) -> str:
    """Draw a graph from top to bottom; an edge that closes a loop leads up, in another colour.

    Solid edges are always taken, dashed ones if a router chooses them. The same graph gives the same text.
    """
    edges = edges_of(graph)
    layers = layers_of(list(graph.nodes), edges)
    names = {key: node_name(graph, key) for key in graph.nodes}
    sizes = _sizes(layers, names, edges)
    placed = place(layers, sizes)
    width = max(placed.width, text_width(title, 17)) + 2 * _MARGIN
    height = placed.height + 2 * _MARGIN + _TITLE_HEIGHT
    shift = (width - placed.width) / 2
    parts = [
        _head(title, width, height),
        f'<g transform="translate({shift:.1f} {_MARGIN + _TITLE_HEIGHT:.1f})">',
        *(_edge(edge, route) for edge, route in zip(edges, placed.routes, strict=True)),
        *_labels(layers, edges, placed),
        *(_box(placed.centres[key], sizes[key], names[key], end=is_end(key)) for key in graph.nodes),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _sizes(layers: Layers, names: dict[str, str], edges: Sequence[DrawnEdge]) -> dict[Key, Size]:
    beside = {edge.source: text_width(edge.label, 12) + 44 for edge in edges if edge.source == edge.target}
    # An edge that closes a loop leads from top to bottom, too; of a box's sides the one with more edges counts.
    joined = [(edge.target, edge.source) if edge.back else (edge.source, edge.target) for edge in edges]
    upper, lower = (Counter(pair[end] for pair in joined if pair[0] != pair[1]) for end in (0, 1))
    touching = upper | lower
    sizes: dict[Key, Size] = {}
    for key, name in names.items():
        width = max(text_width(name, 14) + 36, _LEAST_WIDTH, _PORT * touching[key])
        sizes[key] = Size(width, _BOX_HEIGHT, beside.get(key, 0.0))
    for key in (key for row in layers.rows for key in row if isinstance(key, tuple)):
        label = layers.label_stops.get(key)
        sizes[key] = Size(text_width(label, 12) + 12, _LABEL_HEIGHT) if label else Size(6, 0)
    return sizes


def _head(title: str, width: float, height: float) -> str:
    name = escape(title)
    markers = (
        f'<marker id="{key}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0 1L10 5L0 9z" fill="{colour}"/></marker>'
        for key, colour in (("arrow", "#57606a"), ("loop-arrow", "#b4540a"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{name}">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style>\n"
        f"<defs>{''.join(markers)}</defs>\n"
        f'<rect class="background" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="10"/>\n'
        f'<text class="title" x="{_MARGIN:.0f}" y="{_MARGIN + 12:.0f}">{name}</text>'
    )


def _edge(edge: DrawnEdge, route: Sequence[Point]) -> str:
    classes = "edge" + (" choice" if edge.conditional else "") + (" loop" if edge.back else "")
    marker = "loop-arrow" if edge.back else "arrow"
    points = list(reversed(route)) if edge.back and edge.source != edge.target else list(route)
    return f'<path class="{classes}" d="{_curve(points)}" marker-end="url(#{marker})"/>'


def _curve(points: Sequence[Point]) -> str:
    """Join points: upright lines within rows, bends between them."""
    if len(points) == 3:  # a loop from a node to itself
        (x, top), (right, _), (_, bottom) = points
        return f"M{x:.1f} {top:.1f}C{right:.1f} {top - 14:.1f} {right:.1f} {bottom + 14:.1f} {x:.1f} {bottom:.1f}"
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for number, ((x, y), (to_x, to_y)) in enumerate(pairwise(points)):
        if (x, y) == (to_x, to_y):
            continue  # a last piece without a length would turn the arrowhead
        if number % 2 == 0 or abs(x - to_x) < 0.05:
            path.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            middle = (y + to_y) / 2
            path.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
    return "".join(path)


def _labels(layers: Layers, edges: Sequence[DrawnEdge], placed: Placed) -> list[str]:
    labels = [_label(placed.centres[stop], label, edges[int(stop[0])]) for stop, label in layers.label_stops.items()]
    for edge, route in zip(edges, placed.routes, strict=True):
        if edge.source == edge.target and edge.label:
            x, y = route[1]
            labels.append(_label((x + text_width(edge.label, 12) / 2, y), edge.label, edge))
    return labels


def _label(centre: Point, label: str, edge: DrawnEdge) -> str:
    (x, y), width = centre, text_width(label, 12) + 8
    classes = "label loop-label" if edge.back else "label"
    return (
        f'<rect class="plate" x="{x - width / 2:.1f}" y="{y - 9:.1f}" width="{width:.1f}" height="18" rx="4"/>'
        f'<text class="{classes}" x="{x:.1f}" y="{y + 4:.1f}">{escape(label)}</text>'
    )


def _box(centre: Point, size: Size, name: str, *, end: bool) -> str:
    x, y = centre
    kind, text, radius = ("box end", "end-name", 19) if end else ("box", "name", 9)
    return (
        f'<rect class="{kind}" x="{x - size.width / 2:.1f}" y="{y - size.height / 2:.1f}" '
        f'width="{size.width:.1f}" height="{size.height:.0f}" rx="{radius}"/>'
        f'<text class="{text}" x="{x:.1f}" y="{y + 5:.1f}">{escape(name)}</text>'
    )
