"""`hopgraph draw`: draw a method's graph, or what a run did."""

import sys
from pathlib import Path

from hopgraph.graphs import METHODS, find_method
from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.commands import DrawOptions
from hopgraph.tools.apps.drawing.svg import draw_svg, render_png
from hopgraph.tools.apps.runs.answer_record import read_run
from hopgraph.tools.apps.runs.run_svg import draw_run_svg
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.apps.runs.tree_text import draw_run_text
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.text.sanitize import sanitize_line


def run_draw(options: DrawOptions) -> None:
    """Draw a method's graph or a run's tree to a file, or to standard output."""
    method, run, out, form = options.method, options.run, options.out, options.format_name
    if (method is None) == (run is None):
        raise SettingsError("name a METHOD to draw its graph, or give --run RUN.json to draw a run, and not both")
    if form == "png" and out is None and sys.stdout.isatty():
        raise SettingsError("a terminal cannot show a PNG; write it to a file with --out FILE")
    if form == ("mermaid" if run else "ascii"):
        raise SettingsError("a method's graph is drawn as mermaid, svg or png; a run is drawn as ascii, svg or png")
    is_picture = form in ("svg", "png")
    text = _draw_run(run, is_picture) if run else _draw_method(method or "", is_picture)
    picture = render_png(text) if form == "png" else text.encode("utf-8", "replace")
    if out is not None:
        write_files({out.expanduser(): picture})
    elif form == "png":
        sys.stdout.buffer.write(picture)
    else:
        sys.stdout.write(picture.decode("utf-8"))


def _draw_method(method: str, is_picture: bool) -> str:
    found = find_method(method)
    graph = found.figure.get_graph()
    return draw_svg(graph, str(found.graph.get_name())) if is_picture else f"{str(graph.draw_mermaid()).rstrip()}\n"


def _draw_run(path: Path, is_picture: bool) -> str:
    run = read_run(path.expanduser())
    found = METHODS.get(run["method"])
    title = str(found.graph.get_name()) if found else sanitize_line(run["method"])
    tree = build_tree(run["question"], run["trace"])
    return draw_run_svg(tree, title) if is_picture else f"{draw_run_text(tree, title)}\n"
