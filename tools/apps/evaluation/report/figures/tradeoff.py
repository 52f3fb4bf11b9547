"""Quality against what it costs: one point per method, with its interval and its name."""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

from hopgraph.tools.apps.evaluation.batch.scores import BOUND
from hopgraph.tools.apps.evaluation.comparison import Comparison
from hopgraph.tools.apps.evaluation.report.figures.figure_style import BLUE, INK, SOFT, new_figure
from hopgraph.tools.io.optional_packages import require

_HEIGHT = 5.6
_STEPS = (7, 12, 18, 26, 36, 48, 62)
"""How far from its point a name may stand, in points of print, nearest first."""
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_LEADER = 14
"""From this distance on a line leads from the name to its point."""


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
    figure = new_figure(comparison, f"Quality against {label.partition(' per')[0]}", _HEIGHT)
    (axes,) = figure.axes
    points: list[Point] = []
    for method in comparison.methods:
        means = [mean for name in costs if (mean := comparison.mean(method, name)) is not None]
        f1, interval = comparison.mean(method, "f1"), comparison.interval(method, "f1")
        if f1 is None or interval is None or len(means) < len(costs):
            continue
        points.append(Point(method.name, sum(means), 100 * f1, method.method == BOUND))
        low, high = interval
        axes.vlines(sum(means), 100 * low, 100 * high, color=BLUE, alpha=0.28, linewidth=1.6, zorder=2)
    if not points:
        return None
    for point in points:
        marker, colour = ("D", "white") if point.is_bound else ("o", BLUE)
        axes.plot(point.x, point.y, marker=marker, markersize=6, color=colour, markeredgecolor=BLUE, zorder=3)
    front = _front(points)
    axes.step([p.x for p in front], [p.y for p in front], where="post", color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
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
    """Write each name near its point, where it covers no other name and no point."""
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
    return axes.annotate(
        point.name,
        (point.x, point.y),
        xytext=(across, up),
        textcoords="offset points",
        ha="left" if across > 0 else "right" if across < 0 else "center",
        va="bottom" if up > 0 else "top" if up < 0 else "center",
        fontsize=8,
        color=INK,
        zorder=4,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        arrowprops={"arrowstyle": "-", "color": SOFT, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3} if far else None,
    )
