"""Drawing graphs and runs without a browser, a network or a layout library.

A graph is any that LangGraph describes; a run is a tree made of step events.
"""

from hopgraph.tools.drawing.png import png_of
from hopgraph.tools.drawing.run_file import WrittenRun, read_run
from hopgraph.tools.drawing.run_svg import svg_of_run
from hopgraph.tools.drawing.run_text import text_of_run
from hopgraph.tools.drawing.svg import svg_drawing
from hopgraph.tools.drawing.text import ascii_drawing

__all__ = ["WrittenRun", "ascii_drawing", "png_of", "read_run", "svg_drawing", "svg_of_run", "text_of_run"]
