"""Drawing graphs without a browser, a network or a layout library: any graph that LangGraph describes."""

from hopgraph.tools.cli.drawing.svg import svg_drawing
from hopgraph.tools.cli.drawing.text import ascii_drawing

__all__ = ["ascii_drawing", "svg_drawing"]
