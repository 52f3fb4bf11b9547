"""Graphs as pictures, without a browser, a network or a layout library."""

from hopgraph.tools.apps.drawing.svg import draw_svg, render_png

__all__ = ["draw_svg", "render_png"]
