"""Figures of methods: quality against cost, calls and where questions are lost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hopgraph.tools.apps.evaluation.batch.scores import BOUND
from hopgraph.tools.apps.evaluation.comparison import LOSSES, Comparison
from hopgraph.tools.apps.evaluation.report.figures import figure_style as style

_ROW, _FRAME = 0.28, 1.6
"""Inches of a method's row, and of what stands around the rows."""
_LOOKS: dict[str, tuple[str, str]] = {
    "right": (style.GREEN, ""),
    "answered wrongly": (style.RED, "////"),
    "not answered": (style.YELLOW, "...."),
    "not retrieved": (style.BLUE, "\\\\\\\\"),
    "parse failure": (style.PINK, "xxxx"),
    "budget": (style.ORANGE, "----"),
    "failed": (style.GREY, "++++"),
}
"""Colour and hatching of a part: either is enough to distinguish the parts of a bar."""
_TEXT_FROM = 6
"""Parts of a bar from this percentage on have their text in them."""
_HEIGHT = 5.6
_PLATE = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}


def calls_figure(comparison: Comparison) -> Any:
    """Draw how many model calls the questions of each method take; None where nothing counted them."""
    calls = {
        method.name: sorted(row["llm_calls"] for row in method.rows.values() if "llm_calls" in row)
        for method in comparison.methods
    }
    rows = {name: values for name, values in calls.items() if values}
    if not rows:
        return None
    figure = style.new_figure(comparison, "Model calls per question", _FRAME + _ROW * len(rows))
    (axes,) = figure.axes
    axes.boxplot(
        list(rows.values()),
        positions=range(len(rows)),
        orientation="horizontal",
        whis=(5, 95),
        widths=0.6,
        showmeans=True,
        patch_artist=True,
        flierprops={"marker": ".", "markersize": 3, "markerfacecolor": style.SOFT, "markeredgecolor": style.SOFT},
        medianprops={"color": style.INK, "linewidth": 1.4},
        meanprops={"marker": "D", "markersize": 4, "markerfacecolor": "white", "markeredgecolor": style.INK},
        boxprops={"facecolor": style.SKY, "edgecolor": style.SOFT},
        whiskerprops={"color": style.SOFT},
        capprops={"color": style.SOFT},
    )
    _name_rows(axes, list(rows))
    axes.set_xlim(left=0)
    axes.set_xlabel("model calls: median in the box of the middle half, whiskers from 5 to 95 %, ◇ mean")
    return figure


def losses_figure(comparison: Comparison) -> Any:
    """Draw what became of each method's questions; None where no answers are told."""
    rows = {method.name: Counter(method.losses.values()) for method in comparison.methods if method.losses}
    if not rows:
        return None
    counts = {loss: numbers for loss in LOSSES if any(numbers := [lost[loss] for lost in rows.values()])}
    figure = style.new_figure(comparison, "Where questions are lost", _FRAME + 0.35 + _ROW * len(rows))
    _stack(figure.axes[0], list(rows), counts, {loss: list(map(str, numbers)) for loss, numbers in counts.items()})
    figure.axes[0].set_xlabel("share of the questions, in percent; the numbers are questions")
    return figure


def _stack(axes: Any, names: list[str], counts: Mapping[Any, list[int]], texts: Mapping[Any, list[str]]) -> None:
    """Draw horizontal bars of parts that add up to all questions of a row, with a text in each part that has room."""
    numbers = np.array(list(counts.values()), dtype=float)
    shares = 100 * numbers / np.maximum(numbers.sum(axis=0), 1)
    starts = shares.cumsum(axis=0) - shares
    for part, widths, left in zip(counts, shares, starts, strict=True):
        colour, hatch = _LOOKS[part]
        looks = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.8}
        bars = axes.barh(range(len(names)), widths, left=left, height=0.74, label=part, **looks)
        fitting = [text if width >= _TEXT_FROM else "" for text, width in zip(texts[part], widths, strict=True)]
        axes.bar_label(bars, fitting, label_type="center", fontsize=7.5, bbox=_PLATE, linespacing=1.05)
    _name_rows(axes, names)
    axes.set_xlim(0, 100)
    axes.grid(visible=False, axis="y")
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.4}
    axes.legend(**place, ncols=4, frameon=False, fontsize=8.5, handlelength=1.8)


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def quality_figure(comparison: Comparison, label: str, *costs: str) -> Any:
    """Draw F1 against the sum of costs per question; None where no method has both.

    What nothing beats at its cost is joined by a line.
    """
    figure = style.new_figure(comparison, f"Quality against {label.partition(' per')[0]}", _HEIGHT)
    (axes,) = figure.axes
    points: list[tuple[float, float]] = []
    costs_seen: list[float] = []
    for number, method in enumerate(comparison.methods):
        means = [mean for name in costs if (mean := comparison.mean(method, name)) is not None]
        f1, interval = comparison.mean(method, "f1"), comparison.interval(method, "f1")
        if f1 is None or interval is None or len(means) < len(costs):
            continue
        x, (colour, marker), is_bound = sum(means), style.look(number), method.method == BOUND
        axes.vlines(x, 100 * interval.low, 100 * interval.high, color=colour, alpha=0.28, linewidth=1.6, zorder=2)
        looks = {"marker": marker, "color": "white" if is_bound else colour, "markeredgecolor": colour}
        axes.plot(x, 100 * f1, linestyle="", markersize=6, label=method.name, zorder=3, **looks)
        costs_seen.append(x)
        points += [] if is_bound else [(x, 100 * f1)]  # no method can be chosen to reach the bound
    if not costs_seen:
        return None
    if front := _front(points):
        axes.step(*zip(*front, strict=True), where="post", color=style.SOFT, linewidth=1, linestyle=(0, (4, 3)))
    if min(costs_seen) > 0:
        axes.set_xscale("log")
        axes.xaxis.get_major_locator().set_params(subs=(1, 2, 5))
        axes.xaxis.set_major_formatter("{x:,.10g}")
        axes.minorticks_off()
    axes.margins(x=0.08, y=0.06)
    axes.set_xlabel(label)
    axes.set_ylabel("F1, in percent, with the 95 % interval")
    style.add_legend(figure)
    return figure


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """List the points (cost, F1) that no cheaper or equally cheap one beats, cheapest first."""
    front: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda each: (each[0], -each[1])):
        if not front or y > front[-1][1]:
            front.append((x, y))
    return front
