"""The figures of a comparison, as PNG and SVG files."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hopgraph.tools.apps.evaluation.comparison import Comparison
from hopgraph.tools.apps.evaluation.report.figures.figure_style import drawing
from hopgraph.tools.apps.evaluation.report.figures.method_figures import (
    calls_figure,
    losses_figure,
    quality_figure,
)
from hopgraph.tools.apps.evaluation.report.figures.sweeps import sweep_figures
from hopgraph.tools.io.guarded_files import write_files

_RESOLUTION = 160
"""Dots per inch of the PNG files."""


def draw_figures(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw every figure that the runs have numbers for, each as NAME.png and NAME.svg; return the files.

    SpecError: matplotlib is missing. OSError: a file cannot be written.
    """
    contents = {folder / name: content for name, content in render_figures(comparison, ("png", "svg")).items()}
    write_files(contents)
    return list(contents)


def render_figures(comparison: Comparison, endings: Sequence[str]) -> dict[str, bytes]:
    """Draw the same figures in these formats; return file name → content. SpecError: matplotlib is missing."""
    contents: dict[str, bytes] = {}
    with drawing():
        for name, figure in _figures(comparison):
            for ending in endings if figure else ():
                out = io.BytesIO()
                # Without a date the same runs give the same files.
                figure.savefig(
                    out, format=ending, dpi=_RESOLUTION, metadata={"Date": None} if ending == "svg" else None
                )
                contents[f"{name}.{ending}"] = out.getvalue()
    return contents


def _figures(comparison: Comparison) -> Iterator[tuple[str, Any]]:
    yield "quality-by-calls", quality_figure(comparison, "model calls per question", "llm_calls")
    tokens = ("prompt_tokens", "completion_tokens")
    yield "quality-by-tokens", quality_figure(comparison, "tokens per question, prompt and reply", *tokens)
    yield "calls", calls_figure(comparison)
    yield "losses", losses_figure(comparison)
    yield from sweep_figures(comparison)
