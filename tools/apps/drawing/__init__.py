"""Graphs as pictures and text, without a browser, a network or a layout library."""

from hopgraph.tools.apps.drawing.edges import draw_text
from hopgraph.tools.apps.drawing.svg import draw_svg, render_png

__all__ = ["draw_svg", "draw_text", "render_png"]
