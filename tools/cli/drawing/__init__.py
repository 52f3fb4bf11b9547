"""Drawing graphs without a browser, a network or a layout library."""

from hopgraph.tools.cli.drawing.text import ascii_drawing

__all__ = ["ascii_drawing"]
