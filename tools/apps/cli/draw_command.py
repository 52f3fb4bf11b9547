"""`hopgraph draw`: draw a method's graph, or what a run did."""

import sys
from pathlib import Path

from hopgraph.graphs import METHODS, find_method
from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.command_options import PictureFormat
from hopgraph.tools.apps.drawing import draw_svg, render_png
from hopgraph.tools.apps.runs.answer_record import read_run
from hopgraph.tools.apps.runs.run_svg import draw_run_svg
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.apps.runs.tree_text import draw_run_text
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.text.sanitize import sanitize_line


def run_draw(method: str | None, *, run: Path | None, format_name: PictureFormat | None, out: Path | None) -> None:
    """Draw a method's graph or a run's tree to a file, or to standard output."""
    if (method is None) == (run is None):
        raise SettingsError("name a METHOD to draw its graph, or give --run RUN.json to draw a run, and not both")
    if format_name == "png" and out is None and sys.stdout.isatty():
        raise SettingsError("a terminal cannot show a PNG; write it to a file with --out FILE")
    picture = _draw_run(run, format_name) if run is not None else _draw_method(method or "", format_name)
    if out is not None:
        write_files({out.expanduser(): picture})
    elif format_name == "png":
        sys.stdout.buffer.write(picture)
    else:
        sys.stdout.write(picture.decode("utf-8"))


def _draw_method(method: str, format_name: PictureFormat | None) -> bytes:
    if format_name == "ascii":
        raise SettingsError("a method's graph is drawn as mermaid, svg or png; ascii is for a run")
    found = find_method(method)
    graph, title = found.figure.get_graph(), str(found.graph.get_name())
    if format_name in ("svg", "png"):
        svg = draw_svg(graph, title)
        return render_png(svg) if format_name == "png" else svg.encode()
    return f"{str(graph.draw_mermaid()).rstrip()}\n".encode()


def _draw_run(path: Path, format_name: PictureFormat | None) -> bytes:
    if format_name == "mermaid":
        raise SettingsError("a run is drawn as ascii, svg or png; mermaid is for a method's graph")
    run = read_run(path.expanduser())
    found = METHODS.get(run["method"])
    title = str(found.graph.get_name()) if found else sanitize_line(run["method"])
    tree = build_tree(run["question"], run["trace"])
    if format_name in (None, "ascii"):
        return f"{draw_run_text(tree, title)}\n".encode("utf-8", "replace")
    svg = draw_run_svg(tree, title)
    return render_png(svg) if format_name == "png" else svg.encode()
