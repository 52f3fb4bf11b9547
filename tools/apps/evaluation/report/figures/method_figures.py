"""Figures of methods: quality against cost, calls and where questions are lost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from hopgraph.tools.apps.evaluation.batch.scores import BOUND
from hopgraph.tools.apps.evaluation.comparison import LOSSES, Comparison
from hopgraph.tools.apps.evaluation.report.figures import figure_style as style
from hopgraph.tools.io.optional_packages import require

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
_STEPS = (7, 12, 18, 26, 36, 48, 62)
"""How far from its point a name may stand, in points of print, nearest first."""
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_LEADER = 14
"""From this distance on a line leads from the name to its point."""
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


class Point(NamedTuple):
    """A method in the plane."""

    name: str
    x: float
    y: float
    is_bound: bool
    """Whether no method can be chosen to reach it."""


def quality_figure(comparison: Comparison, label: str, *costs: str) -> Any:
    """Draw F1 against the sum of costs per question; None where no method has both.

    What nothing beats at its cost is joined by a line.
    """
    figure = style.new_figure(comparison, f"Quality against {label.partition(' per')[0]}", _HEIGHT)
    (axes,) = figure.axes
    points: list[Point] = []
    for method in comparison.methods:
        means = [mean for name in costs if (mean := comparison.mean(method, name)) is not None]
        f1, interval = comparison.mean(method, "f1"), comparison.interval(method, "f1")
        if f1 is None or interval is None or len(means) < len(costs):
            continue
        points.append(Point(method.name, sum(means), 100 * f1, method.method == BOUND))
        low, high = interval
        axes.vlines(sum(means), 100 * low, 100 * high, color=style.BLUE, alpha=0.28, linewidth=1.6, zorder=2)
    if not points:
        return None
    for point in points:
        marker, colour = ("D", "white") if point.is_bound else ("o", style.BLUE)
        axes.plot(point.x, point.y, marker=marker, markersize=6, color=colour, markeredgecolor=style.BLUE, zorder=3)
    front = _front(points)
    axes.step(
        [p.x for p in front], [p.y for p in front], where="post", color=style.SOFT, linewidth=1, linestyle=(0, (4, 3))
    )
    if min(point.x for point in points) > 0:
        axes.set_xscale("log")
        axes.xaxis.get_major_locator().set_params(subs=(1, 2, 5))
        axes.xaxis.set_major_formatter("{x:,.10g}")
        axes.minorticks_off()
    axes.margins(x=0.12, y=0.06)
    axes.set_xlabel(label)
    axes.set_ylabel("F1, in percent, with the 95 % interval")
    _name_points(figure, axes, points)
    return figure


def _front(points: Sequence[Point]) -> list[Point]:
    """List the points that no cheaper or equally cheap one beats, cheapest first; the bound is no method to choose."""
    front: list[Point] = []
    for point in sorted((each for each in points if not each.is_bound), key=lambda each: (each.x, -each.y)):
        if not front or point.y > front[-1].y:
            front.append(point)
    return front


def _name_points(figure: Any, axes: Any, points: Sequence[Point]) -> None:
    figure.draw_without_rendering()
    radius = 4.5 * figure.dpi / 72
    centres = axes.transData.transform([(point.x, point.y) for point in points])
    box_of = require("matplotlib.transforms", "figures").Bbox
    taken: list[Any] = [box_of([centre - radius, centre + radius]) for centre in centres]
    inside = axes.get_window_extent()
    for point in sorted(points, key=lambda each: (-each.y, each.x)):
        best: tuple[int, Any, Any] | None = None
        for distance, (across, up) in product(_STEPS, _SIDES):
            text = _name(axes, point, across * distance, up * distance)
            box = text.get_window_extent().padded(1)
            clashes = sum(box.overlaps(other) for other in taken)
            clashes += 10 * (not (inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0))
            worse = text
            if best is None or clashes < best[0]:
                worse, best = best and best[1], (clashes, text, box)
            if worse:
                worse.remove()
            if best[0] == 0:
                break
        taken += best[2:] if best else ()


def _name(axes: Any, point: Point, across: float, up: float) -> Any:
    far = max(abs(across), abs(up)) >= _LEADER
    leader = {"arrowstyle": "-", "color": style.SOFT, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
    return axes.annotate(
        point.name,
        (point.x, point.y),
        xytext=(across, up),
        textcoords="offset points",
        ha="left" if across > 0 else "right" if across < 0 else "center",
        va="bottom" if up > 0 else "top" if up < 0 else "center",
        fontsize=8,
        color=style.INK,
        zorder=4,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        arrowprops=leader if far else None,
    )
