"""A graph as an SVG picture that stands alone: no script, no font to load, its own background; and any as PNG."""

import importlib
from html import escape
from math import copysign
from typing import Any

from langchain_core.runnables.graph import Graph

from hopgraph.state import SettingsError
from hopgraph.tools.apps.drawing.layout import Box, Point, Route, place
from hopgraph.tools.apps.drawing.measure import text_width

_MARGIN, _TITLE_HEIGHT = 28.0, 44.0
_LEAST_WIDTH = 76.0
_CORNER = 9.0
_ENDS = {"__start__": "start", "__end__": "end"}
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
    """Draw a graph from top to bottom; what leads up is on the left, and has another colour, as it closes a loop.

    Solid edges are always taken, dashed ones if a router chooses them. The same graph gives the same text.
    """
    names = {key: _ENDS.get(key, node.name) for key, node in graph.nodes.items()}
    labels = ["" if edge.data is None else str(edge.data) for edge in graph.edges]
    plates = [text_width(label, 12) + 8 if label else 0.0 for label in labels]
    widths = {key: max(text_width(name, 14) + 36, _LEAST_WIDTH) for key, name in names.items()}
    layout = place(widths, graph.edges, plates)
    placed = layout.right - layout.left
    width = max(placed, text_width(title, 17)) + 2 * _MARGIN
    height = max(box.bottom for box in layout.boxes.values()) + 2 * _MARGIN + _TITLE_HEIGHT
    parts = [
        _head(title, width, height),
        f'<g transform="translate({(width - placed) / 2 - layout.left:.1f} {_MARGIN + _TITLE_HEIGHT:.1f})">',
        *(_edge(route, conditional=edge.conditional) for edge, route in zip(graph.edges, layout.routes, strict=True)),
        *(_label(*each) for each in zip(labels, layout.routes, plates, strict=True) if each[0]),
        *(_box(box, names[key], end=key in _ENDS) for key, box in layout.boxes.items()),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


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


def _edge(route: Route, *, conditional: bool) -> str:
    classes = "edge" + (" choice" if conditional else "") + (" loop" if route.leads_up else "")
    marker, points = "loop-arrow" if route.leads_up else "arrow", route.points
    path = "M" + _point(points[0])
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        path += f"L{_point(_toward(corner, before))}Q{_point(corner)} {_point(_toward(corner, after))}"
    return f'<path class="{classes}" d="{path}L{_point(points[-1])}" marker-end="url(#{marker})"/>'


def _point(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _toward(corner: Point, other: Point) -> Point:
    """Return where the rounding of a corner begins on the upright or level piece to another point."""
    x, y = (at + copysign(min(_CORNER, abs(to - at) / 2), to - at) for at, to in zip(corner, other, strict=True))
    return x, y


def _label(label: str, route: Route, width: float) -> str:
    x, y = route.label
    classes = "label loop-label" if route.leads_up else "label"
    return (
        f'<rect class="plate" x="{x - width / 2:.1f}" y="{y - 9:.1f}" width="{width:.1f}" height="18" rx="4"/>'
        f'<text class="{classes}" x="{x:.1f}" y="{y + 4:.1f}">{escape(label)}</text>'
    )


def _box(box: Box, name: str, *, end: bool) -> str:
    kind, text, radius = ("box end", "end-name", 19) if end else ("box", "name", 9)
    return (
        f'<rect class="{kind}" x="{-box.width / 2:.1f}" y="{box.top:.1f}" '
        f'width="{box.width:.1f}" height="{box.height:.0f}" rx="{radius}"/>'
        f'<text class="{text}" x="0" y="{box.top + box.height / 2 + 5:.1f}">{escape(name)}</text>'
    )


_SCALE = 2
"""Pixels to each of the picture's units, so that small text stays sharp."""
_MOST_PIXELS = 100_000_000
_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" width="20" height="20">{}</svg>'
_FONTS = (
    "Segoe UI",
    "Helvetica Neue",
    "Arial",
    "DejaVu Sans",
    "Liberation Sans",
    "Noto Sans",
    "Roboto",
    "Ubuntu",
    "Cantarell",
    "FreeSans",
    "Open Sans",
    "Lato",
)
"""Sans-serif fonts of common systems. The renderer drops a text whose font is missing, without a fallback."""


def render_png(svg: str) -> bytes:
    """Return the PNG of one of our SVG pictures at twice its size, or smaller where that would exceed 100 megapixels.

    Raises:
        SettingsError: resvg-py is not installed, or there is no font to write with.
    """
    try:
        resvg: Any = importlib.import_module("resvg_py")
    except ModuleNotFoundError:
        raise SettingsError(
            "PNG needs the package resvg-py: pip install 'hopgraph[png]', or write the picture as svg"
        ) from None
    width, height = map(float, svg.partition('viewBox="0 0 ')[2].partition('"')[0].split())
    scale = min(_SCALE, (_MOST_PIXELS / (width * height)) ** 0.5)
    return bytes(
        resvg.svg_to_bytes(svg_string=svg, width=round(width * scale), sans_serif_family=_installed_font(resvg))
    )


def _installed_font(resvg: Any) -> str:
    """Return the first font of the list that draws anything."""
    blank = resvg.svg_to_bytes(svg_string=_PROBE.format(""))
    for name in _FONTS:
        letter = _PROBE.format(f'<text x="2" y="16" font-size="14" font-family="{name}">A</text>')
        if resvg.svg_to_bytes(svg_string=letter) != blank:
            return name
    raise SettingsError(
        "no known font is installed, so a PNG would have no text; install one (such as DejaVu Sans), "
        "or write the picture as svg"
    )
