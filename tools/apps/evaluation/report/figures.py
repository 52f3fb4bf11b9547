"""The figures of a comparison, as PNG and SVG files: quality against cost, calls, losses."""

import io
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from hopgraph.tools.apps.evaluation.batch.scores import BOUND
from hopgraph.tools.apps.evaluation.comparison import LOSSES, Comparison
from hopgraph.tools.apps.evaluation.report.tables import stand_in_kinds
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.io.optional_packages import require

# The palette of Okabe and Ito (2008), which color-blind readers can distinguish.
BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
SKY, PINK, YELLOW, GREY = "#56b4e9", "#cc79a7", "#f0e442", "#999999"
SOFT = "#666666"
_COLORS, _MARKERS = (BLUE, ORANGE, GREEN, RED, SKY, PINK, GREY), "osD^vPX*<>hp"
_WIDTH = 8.0
_ROW, _FRAME = 0.28, 1.6
"""Height of a method's row and of the frame, in inches."""
_LOOKS: dict[str, tuple[str, str]] = {
    "right": (GREEN, ""),
    "answered wrongly": (RED, "////"),
    "not answered": (YELLOW, "...."),
    "not retrieved": (BLUE, "\\\\\\\\"),
    "parse failure": (PINK, "xxxx"),
    "budget": (ORANGE, "----"),
    "failed": (GREY, "++++"),
}
"""Color and hatching of a part of a bar; either one distinguishes the parts."""
_MIN_LABELED = 6  # minimum percentage of a bar's part for a label
_HEIGHT, _LEGEND_ROW = 5.6, 0.17  # inches
_PLATE = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}


def draw_figures(comparison: Comparison, folder: Path) -> list[Path]:
    """Write the figures as PNG and SVG into a folder; return the files. OSError: one cannot be written."""
    contents = {folder / name: content for name, content in render_figures(comparison, ("png", "svg")).items()}
    write_files(contents)
    return list(contents)


def render_figures(comparison: Comparison, endings: Sequence[str]) -> dict[str, bytes]:
    """Return file name → content of all figures with data, in these formats; SpecError if matplotlib is missing."""
    contents: dict[str, bytes] = {}
    with drawing():
        for name, figure in _figures(comparison):
            for ending in endings if figure else ():
                out = io.BytesIO()
                # No date, so that the same runs give the same files.
                figure.savefig(out, format=ending, metadata={"Date": None} if ending == "svg" else None)
                contents[f"{name}.{ending}"] = out.getvalue()
    return contents


def _figures(comparison: Comparison) -> Iterator[tuple[str, Any]]:
    yield "quality-by-calls", quality_figure(comparison, "model calls per question", "llm_calls")
    tokens = ("prompt_tokens", "completion_tokens")
    yield "quality-by-tokens", quality_figure(comparison, "tokens per question, prompt and reply", *tokens)
    yield "quality-by-cost", quality_figure(comparison, "cost per question", "cost")
    yield "calls", calls_figure(comparison)
    yield "losses", losses_figure(comparison)


def drawing() -> AbstractContextManager[None]:
    """Return a context with our style and matplotlib's defaults; SpecError if matplotlib is missing."""
    require("matplotlib", "figures")
    style = str(files(__package__ or "").joinpath("figures.mplstyle"))
    return require("matplotlib.style", "figures").context(style, after_reset=True)


def new_figure(comparison: Comparison, title: str, height: float) -> Any:
    """Return a figure with axes, a title, and a line that describes the questions and the model."""
    # Not through pyplot, which keeps figures and may open windows.
    figure: Any = require("matplotlib.figure", "figures").Figure(figsize=(_WIDTH, height), layout="constrained")
    figure.subplots()
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    facts = comparison.methods[0].reader.manifest.dataset
    parts = [f"{facts.name}, {facts.sample}, {facts.questions:,} questions"]
    if kinds := stand_in_kinds(comparison):
        parts.append(f"answered by the {kinds} model, which is not a language model")
    figure.supxlabel(" · ".join(parts), x=0.01, ha="left", fontsize=8, color=SOFT)
    return figure


def calls_figure(comparison: Comparison) -> Any:
    """Draw each method's model calls per question; None if there are no counts."""
    rows: dict[str, list[float]] = {}
    for method in comparison.methods:
        if calls := [row["llm_calls"] for row in method.rows.values() if "llm_calls" in row]:
            rows[method.name] = sorted(calls)
    if not rows:
        return None
    figure = new_figure(comparison, "Model calls per question", _FRAME + _ROW * len(rows))
    (axes,) = figure.axes
    looks = {"whis": (5, 95), "widths": 0.6, "boxprops": {"facecolor": SKY, "edgecolor": SOFT}}
    axes.boxplot(list(rows.values()), positions=range(len(rows)), orientation="horizontal", **looks)
    _name_rows(axes, list(rows))
    axes.set_xlim(left=0)
    axes.set_xlabel("model calls: median in the box of the middle half, whiskers from 5 to 95 %, ◇ mean")
    return figure


def losses_figure(comparison: Comparison) -> Any:
    """Draw the shares of each method's outcomes; None if no outcome is known."""
    rows = {method.name: Counter(method.losses.values()) for method in comparison.methods if method.losses}
    if not rows:
        return None
    counts = {loss: numbers for loss in LOSSES if any(numbers := [lost[loss] for lost in rows.values()])}
    figure = new_figure(comparison, "Where questions are lost", _FRAME + 0.35 + _ROW * len(rows))
    (axes,) = figure.axes
    numbers = np.array(list(counts.values()), dtype=float)
    shares = 100 * numbers / np.maximum(numbers.sum(axis=0), 1)
    starts = shares.cumsum(axis=0) - shares
    for part, widths, left in zip(counts, shares, starts, strict=True):
        color, hatch = _LOOKS[part]
        looks = {"color": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0.8}
        bars = axes.barh(range(len(rows)), widths, left=left, height=0.74, label=part, **looks)
        fitting = [str(n) if width >= _MIN_LABELED else "" for n, width in zip(counts[part], widths, strict=True)]
        axes.bar_label(bars, fitting, label_type="center", fontsize=7.5, bbox=_PLATE, linespacing=1.05)
    _name_rows(axes, list(rows))
    axes.set_xlim(0, 100)
    axes.grid(visible=False, axis="y")
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.4}
    axes.legend(**place, ncols=4, frameon=False, fontsize=8.5, handlelength=1.8)
    axes.set_xlabel("share of the questions, in percent; the numbers are questions")
    return figure


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def quality_figure(comparison: Comparison, label: str, *costs: str) -> Any:
    """Draw F1 against the sum of costs per question, with the Pareto frontier; None if no method has both."""
    height = max(_HEIGHT, _LEGEND_ROW * len(comparison.methods))
    figure = new_figure(comparison, f"Quality against {label.partition(' per')[0]}", height)
    (axes,) = figure.axes
    points: dict[str, tuple[float, float]] = {}
    for number, method in enumerate(comparison.methods):
        point, interval = comparison.point(method, *costs), comparison.interval(method, "f1")
        if point is None or interval is None:
            continue
        (x, f1), is_bound = point, method.method == BOUND
        color, marker = _COLORS[number % len(_COLORS)], _MARKERS[number % len(_MARKERS)]  # the first 84 pairs differ
        axes.vlines(x, 100 * interval.low, 100 * interval.high, color=color, alpha=0.28, linewidth=1.6, zorder=2)
        looks = {"marker": marker, "color": "white" if is_bound else color, "markeredgecolor": color}
        axes.plot(x, 100 * f1, linestyle="", markersize=6, label=method.name, zorder=3, **looks)
        points[method.name] = (x, 100 * f1)
    if not points:
        return None
    front: dict[tuple[float, float], list[str]] = defaultdict(list)
    for each in comparison.frontier(*costs):
        front[points[each.name]].append(each.name)
    axes.step(
        [x for x, _ in front], [y for _, y in front], where="post", color=SOFT, linewidth=1, linestyle=(0, (4, 3))
    )
    for point, (name, *equal) in front.items():
        said = f"{name} and {len(equal)} more" if equal else name
        axes.annotate(said, point, (4, 5), textcoords="offset points", fontsize=7.5, color=SOFT)
    if min(x for x, _ in points.values()) > 0:
        axes.set_xscale("log")
        axes.xaxis.get_major_locator().set_params(subs=(1, 2, 5))
        axes.xaxis.set_major_formatter("{x:,.10g}")
        axes.minorticks_off()
    axes.margins(x=0.08, y=0.06)
    axes.set_xlabel(label)
    axes.set_ylabel("F1, in percent, with the 95 % interval")
    figure.legend(loc="outside right upper", frameon=False, fontsize=7.5, borderaxespad=0.2)
    return figure
