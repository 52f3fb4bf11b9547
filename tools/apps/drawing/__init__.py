"""Graphs as pictures and text, without a browser, a network or a layout library."""

from hopgraph.tools.apps.drawing.png import png_of
from hopgraph.tools.apps.drawing.svg import svg_drawing
from hopgraph.tools.apps.drawing.text_drawing import ascii_drawing

__all__ = ["ascii_drawing", "png_of", "svg_drawing"]
