"""The figures of a comparison, as PNG and SVG files."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hopgraph.tools.apps.evaluation.comparison import Comparison
from hopgraph.tools.apps.evaluation.report.figures.counts import calls_figure, losses_figure, workload_figure
from hopgraph.tools.apps.evaluation.report.figures.figure_style import drawing
from hopgraph.tools.apps.evaluation.report.figures.sweeps import error_figure, sweep_figures
from hopgraph.tools.apps.evaluation.report.figures.tradeoff import quality_figure
from hopgraph.tools.io.atomic_files import write_files

_RESOLUTION = 160
"""Dots per inch of the PNG files."""

Draw = Callable[[], Any]


def draw_figures(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw every figure that the runs have numbers for; each as NAME.png and NAME.svg.

    Returns:
        The files.

    Raises:
        SpecError: matplotlib is missing. OSError: a file cannot be written.
    """
    contents: dict[Path, bytes] = {}
    with drawing():
        for name, draw in _figures(comparison):
            figure = draw()
            if figure is None:
                continue
            for ending in ("png", "svg"):
                out = io.BytesIO()
                # Without a date the same runs give the same files.
                meta = {"Date": None} if ending == "svg" else None
                figure.savefig(out, format=ending, dpi=_RESOLUTION, metadata=meta)
                contents[folder / f"{name}.{ending}"] = out.getvalue()
    write_files(contents)
    return list(contents)


def _figures(comparison: Comparison) -> Iterator[tuple[str, Draw]]:
    """List the figures by name; each draws itself, or gives None where there is nothing to draw."""
    yield "quality-by-calls", lambda: quality_figure(comparison, "llm_calls", "model calls per question")
    yield "quality-by-tokens", lambda: quality_figure(comparison, "tokens", "tokens per question, prompt and reply")
    yield "calls", lambda: calls_figure(comparison)
    yield "losses", lambda: losses_figure(comparison)
    yield "workload", lambda: workload_figure(comparison)
    yield "errors", lambda: error_figure(comparison)
    yield from sweep_figures(comparison)
