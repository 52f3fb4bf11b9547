"""`hopgraph draw`: draw a method's graph."""

import sys
from pathlib import Path
from typing import Literal

from hopgraph.tools.cli.drawing import ascii_drawing, svg_drawing
from hopgraph.tools.cli.files import write_files
from hopgraph.tools.cli.settings import method_named

Format = Literal["mermaid", "ascii", "svg"]


def run_draw(method: str, *, format_name: Format, out: Path | None) -> None:
    """Draw a graph to a file, or to standard output.

    Raises:
        SettingsError: no method has this name. OSError: the file cannot be written.
    """
    text = drawing_of(method, format_name)
    if out is None:
        sys.stdout.write(text)
    else:
        write_files({out.expanduser(): text.encode("utf-8")})


def drawing_of(method: str, format_name: Format) -> str:
    """Draw a method's graph as text that ends with a line feed; the same every time.

    Raises:
        SettingsError: no method has this name.
    """
    compiled = method_named(method).graph
    graph, title = compiled.get_graph(), str(compiled.get_name())
    if format_name == "mermaid":
        text: str = graph.draw_mermaid()
    else:
        text = svg_drawing(graph, title) if format_name == "svg" else ascii_drawing(graph, title)
    return f"{text.rstrip()}\n"
