"""The style of the figures: a palette for colour-blind readers, quiet axes, room for names."""

from contextlib import AbstractContextManager
from typing import Any

from hopgraph.tools.apps.evaluation.comparison import Comparison
from hopgraph.tools.apps.evaluation.report.tables import stand_in_kinds
from hopgraph.tools.io.optional_packages import require

# The palette of Okabe and Ito (2008), which colour-blind readers can distinguish.
BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
SKY, PINK, YELLOW, GREY = "#56b4e9", "#cc79a7", "#f0e442", "#999999"
INK, SOFT = "#222222", "#666666"
_COLOURS, _MARKERS = (BLUE, ORANGE, GREEN, RED, SKY, PINK, GREY), "osD^vPX*<>hp"
_WIDTH = 8.0
"""Inches."""
_STYLE: dict[str, Any] = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.size": 9.5,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # what matplotlib brings along, so that figures look the same everywhere
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "text.parse_math": False,  # a name with two dollar signs is no formula
    "svg.hashsalt": "hopgraph",
    "hatch.linewidth": 0.6,
}


def drawing() -> AbstractContextManager[None]:
    """Draw in our style within the block, whatever the user's matplotlib is set to; SpecError where it is missing."""
    require("matplotlib", "figures")
    return require("matplotlib.style", "figures").context(_STYLE, after_reset=True)


def new_figure(comparison: Comparison, title: str, height: float, columns: int = 1) -> Any:
    """Make a figure with axes side by side, its title, and below them the questions and the model.

    It is made without pyplot, which keeps figures and may open windows.
    """
    figure: Any = require("matplotlib.figure", "figures").Figure(figsize=(_WIDTH, height), layout="constrained")
    figure.subplots(1, columns)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    facts = comparison.methods[0].reader.manifest.dataset
    parts = [f"{facts.name}, {facts.sample}, {facts.questions:,} questions"]
    if kinds := stand_in_kinds(comparison):
        parts.append(f"answered by the {kinds} model, which is no language model")
    figure.supxlabel(" · ".join(parts), x=0.01, ha="left", fontsize=8, color=SOFT)
    return figure


def look(number: int) -> tuple[str, str]:
    """Return the colour and the marker of the line or point with this number; those of the first 84 differ."""
    return _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]


def add_legend(figure: Any) -> None:
    """Name what the first axes show, beside them."""
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", frameon=False, fontsize=7.5, borderaxespad=0.2)
