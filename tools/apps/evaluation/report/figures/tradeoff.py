"""Quality against what it costs: one point per method, with its interval and its name."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hopgraph.tools.apps.evaluation.batch.summary import BOUND
from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod
from hopgraph.tools.apps.evaluation.report.figures.figure_style import BLUE, INK, SOFT, new_figure
from hopgraph.tools.apps.evaluation.statistics import Interval
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
    ci95: Interval
    method: str


def quality_figure(comparison: Comparison, cost: str, label: str) -> Any:
    """Draw F1 against a cost per question; the methods that nothing beats at their cost are joined by a line.

    Returns:
        The figure; None where no method has both numbers.
    """
    points = [point for method in comparison.methods if (point := _point(comparison, method, cost))]
    if not points:
        return None
    figure = new_figure(comparison, f"Quality against {label.partition(' per')[0]}", _HEIGHT)
    (axes,) = figure.axes
    front = _front(points)
    axes.step([p.x for p in front], [p.y for p in front], where="post", color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
    for point in points:
        _draw_point(axes, point)
    if min(point.x for point in points) > 0:
        axes.set_xscale("log")
        ticks = require("matplotlib.ticker", "figures")
        axes.xaxis.set_major_locator(ticks.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(ticks.StrMethodFormatter("{x:,.10g}"))
        axes.xaxis.set_minor_locator(ticks.NullLocator())
    axes.margins(x=0.12, y=0.06)
    axes.set_xlabel(label)
    axes.set_ylabel("F1, in percent, with the 95 % interval")
    _name_points(figure, axes, points)
    return figure


def _draw_point(axes: Any, point: Point) -> None:
    """Draw a point with its interval; the bound, which no method can be chosen to reach, as an empty diamond."""
    low, high = point.ci95
    axes.plot([point.x, point.x], [100 * low, 100 * high], color=BLUE, alpha=0.28, linewidth=1.6, zorder=2)
    marker, colour = ("D", "white") if point.method == BOUND else ("o", BLUE)
    axes.plot(point.x, point.y, marker=marker, markersize=6, color=colour, markeredgecolor=BLUE, zorder=3)


def _point(comparison: Comparison, method: ScoredMethod, cost: str) -> Point | None:
    names = ("prompt_tokens", "completion_tokens") if cost == "tokens" else (cost,)
    costs = [comparison.mean(method, name) for name in names]
    mean, interval = comparison.mean(method, "f1"), comparison.interval(method, "f1")
    if mean is None or interval is None or any(each is None for each in costs):
        return None
    return Point(method.name, sum(each or 0.0 for each in costs), 100 * mean, interval, method.method)


def _front(points: Sequence[Point]) -> list[Point]:
    """List the points that no cheaper or equally cheap one beats, cheapest first; the bound is no method to choose."""
    front: list[Point] = []
    for point in sorted((each for each in points if each.method != BOUND), key=lambda each: (each.x, -each.y)):
        if not front or point.y > front[-1].y:
            front.append(point)
    return front


def _name_points(figure: Any, axes: Any, points: Sequence[Point]) -> None:
    """Write each name near its point, where it covers no other name and no point."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    scale = figure.dpi / 72
    taken: list[Any] = [_around(axes.transData.transform((point.x, point.y)), 4.5 * scale) for point in points]
    inside = axes.get_window_extent(renderer)
    for point in sorted(points, key=lambda each: (-each.y, each.x)):
        best: tuple[int, Any, Any] | None = None
        for distance in _STEPS:
            for across, up in _SIDES:
                text = _name(axes, point, across * distance, up * distance)
                box = text.get_window_extent(renderer).padded(1)
                clashes = sum(box.overlaps(other) for other in taken)
                clashes += 10 * (not (inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0))
                text.remove()
                if best is None or clashes < best[0]:
                    best = (clashes, (across * distance, up * distance), box)
            if best and best[0] == 0:
                break
        if best:
            _name(axes, point, *best[1])
            taken.append(best[2])


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


def _around(centre: Any, radius: float) -> Any:
    box = require("matplotlib.transforms", "figures").Bbox
    x, y = centre
    return box([[x - radius, y - radius], [x + radius, y + radius]])
