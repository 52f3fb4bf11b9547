"""Graphs as pictures and text, without a browser, a network or a layout library."""

from hopgraph.tools.apps.drawing.png import render_png
from hopgraph.tools.apps.drawing.svg import draw_svg
from hopgraph.tools.apps.drawing.text_drawing import draw_text

__all__ = ["draw_svg", "draw_text", "render_png"]
