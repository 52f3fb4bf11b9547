"""`hopgraph draw`: draw a method's graph, or what a run did."""

import sys
from pathlib import Path
from typing import Literal

from hopgraph.graphs import METHODS
from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.settings_options import method_named
from hopgraph.tools.apps.drawing import ascii_drawing, png_of, svg_drawing
from hopgraph.tools.apps.runs.run_file import read_run
from hopgraph.tools.apps.runs.run_svg import svg_of_run
from hopgraph.tools.apps.runs.run_text import text_of_run
from hopgraph.tools.apps.runs.trees import tree_of
from hopgraph.tools.io.atomic_files import write_files
from hopgraph.tools.text.sanitize import sanitize_line

Format = Literal["mermaid", "ascii", "svg", "png"]
TextFormat = Literal["mermaid", "ascii", "svg"]


def run_draw(method: str | None, *, run: Path | None, format_name: Format | None, out: Path | None) -> None:
    """Draw a method's graph or a run's tree to a file, or to standard output.

    Args:
        method: A method's name, or None for a run.
        run: What `hopgraph ask --json` wrote, or None for a method.
        format_name: None for the format that a terminal can show: Mermaid for a method, text for a run.
        out: None for standard output.

    Raises:
        SettingsError: no method has this name, not exactly one of the two is given, or a format that it does
        not have. RunError: the run's file holds something else. OSError: a file cannot be read or written.
    """
    if (method is None) == (run is None):
        raise SettingsError("name a METHOD to draw its graph, or give --run RUN.json to draw a run, and not both")
    if format_name == "png" and out is None and sys.stdout.isatty():
        raise SettingsError("a terminal cannot show a PNG; write it to a file with --out FILE")
    picture = method_picture(method, format_name) if method is not None else run_picture(run or Path(), format_name)
    if out is not None:
        write_files({out.expanduser(): picture})
    elif format_name == "png":
        sys.stdout.buffer.write(picture)
    else:
        sys.stdout.write(picture.decode("utf-8"))


def method_picture(method: str, format_name: Format | None) -> bytes:
    """Draw a method's graph; see `run_draw`."""
    if format_name == "png":
        return png_of(drawing_of(method, "svg"))
    return drawing_of(method, format_name or "mermaid").encode("utf-8")


def drawing_of(method: str, format_name: TextFormat) -> str:
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


def run_picture(path: Path, format_name: Format | None) -> bytes:
    """Draw what a run did; see `run_draw`."""
    if format_name == "mermaid":
        raise SettingsError("a run is drawn as ascii, svg or png; mermaid is for a method's graph")
    run = read_run(path.expanduser())
    module = METHODS.get(run["method"])
    title = str(module.graph.get_name()) if module else sanitize_line(run["method"])
    tree = tree_of(run["question"], run["trace"])
    if format_name in (None, "ascii"):
        return f"{text_of_run(tree, title)}\n".encode("utf-8", "replace")
    svg = svg_of_run(tree, title)
    return png_of(svg) if format_name == "png" else svg.encode("utf-8")
