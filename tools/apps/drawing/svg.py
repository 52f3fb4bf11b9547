"""A graph as an SVG picture that stands alone: no script, no font to load, its own background; and any as PNG."""

from collections.abc import Iterable
from html import escape

from langchain_core.runnables.graph import Graph

from hopgraph.state import SettingsError
from hopgraph.tools.apps.drawing.layout import Box, Route, place
from hopgraph.tools.apps.drawing.measure import text_width
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


def frame_svg(
    parts: Iterable[str], heading: str, width: float, height: float, *, style: str, title: str = "", about: str = ""
) -> str:
    """Return a picture that stands alone, of parts that are SVG already, on a background with a heading.

    For those who cannot see it, it is called `title`, else as its heading says, and described by `about`.
    """
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
    layout = place(widths, graph.edges, plates)
    placed = layout.right - layout.left
    width = max(placed, text_width(title, 17)) + 2 * MARGIN
    height = max(box.bottom for box in layout.boxes.values()) + 2 * MARGIN + _TITLE_HEIGHT
    parts = [
        _ARROWS,
        f'<g transform="translate({(width - placed) / 2 - layout.left:.1f} {MARGIN + _TITLE_HEIGHT:.1f})">',
        *(_edge(route, conditional=edge.conditional) for edge, route in zip(graph.edges, layout.routes, strict=True)),
        *(_label(*each) for each in zip(labels, layout.routes, plates, strict=True) if each[0]),
        *(_box(box, names[key], end=key in _ENDS) for key, box in layout.boxes.items()),
        "</g>",
    ]
    return frame_svg(parts, title, width, height, style=_STYLE)


def _edge(route: Route, *, conditional: bool) -> str:
    classes = "edge" + (" choice" if conditional else "") + (" loop" if route.leads_up else "")
    marker = "loop-arrow" if route.leads_up else "arrow"
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in route.points)
    return f'<path class="{classes}" d="M{path}" marker-end="url(#{marker})"/>'


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
_PROBE = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{_FONTS}" width="20" height="20">{{}}</svg>'


def render_png(svg: str) -> bytes:
    """Return the PNG of one of our SVG pictures at twice its size, or smaller where that would exceed 100 megapixels.

    Raises:
        SettingsError: resvg-py is not installed, or there is no font to write with.
    """
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
