"""`hopgraph draw`: draw a method's graph, or what a run did."""

import sys
from pathlib import Path

from hopgraph.graphs import METHODS, find_method
from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.commands import DrawOptions
from hopgraph.tools.apps.drawing import draw_svg, render_png
from hopgraph.tools.apps.runs.answer_record import read_run
from hopgraph.tools.apps.runs.run_svg import draw_run_svg
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.apps.runs.tree_text import draw_run_text
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.text.sanitize import sanitize_line


def run_draw(options: DrawOptions) -> None:
    """Draw a method's graph or a run's tree to a file, or to standard output."""
    method, run, out, is_png = options.method, options.run, options.out, options.format_name == "png"
    if (method is None) == (run is None):
        raise SettingsError("name a METHOD to draw its graph, or give --run RUN.json to draw a run, and not both")
    if is_png and out is None and sys.stdout.isatty():
        raise SettingsError("a terminal cannot show a PNG; write it to a file with --out FILE")
    text = _draw_run(run, options.format_name) if run is not None else _draw_method(method or "", options.format_name)
    picture = render_png(text) if is_png else text.encode("utf-8", "replace")
    if out is not None:
        write_files({out.expanduser(): picture})
    elif is_png:
        sys.stdout.buffer.write(picture)
    else:
        sys.stdout.write(picture.decode("utf-8"))


def _draw_method(method: str, form: str | None) -> str:
    if form == "ascii":
        raise SettingsError("a method's graph is drawn as mermaid, svg or png; ascii is for a run")
    found = find_method(method)
    graph = found.figure.get_graph()
    if form in ("svg", "png"):
        return draw_svg(graph, str(found.graph.get_name()))
    return f"{str(graph.draw_mermaid()).rstrip()}\n"


def _draw_run(path: Path, form: str | None) -> str:
    if form == "mermaid":
        raise SettingsError("a run is drawn as ascii, svg or png; mermaid is for a method's graph")
    run = read_run(path.expanduser())
    found = METHODS.get(run["method"])
    title = str(found.graph.get_name()) if found else sanitize_line(run["method"])
    tree = build_tree(run["question"], run["trace"])
    return draw_run_svg(tree, title) if form in ("svg", "png") else f"{draw_run_text(tree, title)}\n"
