"""How scores and calls move with a setting: depth and width, and how often a rehearsal model errs."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from pydantic import JsonValue

from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod
from hopgraph.tools.apps.evaluation.report.figures.figure_style import BLUE, GREY, ORANGE, RED, SKY, new_figure

_TREE, _CHAIN, _OTHER = ("tree", BLUE, "-"), ("chain", ORANGE, "--"), ("other", GREY, ":")
_KINDS = {
    **dict.fromkeys(("tree_of_reviews", "ra_isf"), _TREE),
    **dict.fromkeys(("chain_of_reviews", "ircot", "react", "iter_retgen", "self_ask", "genground", "migres"), _CHAIN),
}
"""Method → its kind, with the kind's colour and line."""
_PAIR = ("tree_of_reviews", "chain_of_reviews")
"""The same review on a tree and on a chain: the comparison of the Tree of Reviews paper, drawn thicker."""
_MARKERS = "osD^vPX*<>hp"
_SCORES = (("em", "EM", BLUE, "o", -0.06), ("f1", "F1", ORANGE, "s", 0.0), ("recall@15", "R@15", RED, "^", 0.06))
"""Of a sweep: score, name, colour, marker, and how far it is moved aside so that intervals stay apart."""
Points = list[tuple[Any, ScoredMethod]]
"""Value of a setting → the method with it, in order of the values."""


class Setting(NamedTuple):
    """A setting in which otherwise equal runs of a method differ."""

    method: str
    name: str
    points: Points


def settings_swept(comparison: Comparison) -> list[Setting]:
    """Find the methods that several runs have, with settings that differ in nothing but one."""
    return [
        Setting(method, name, points)
        for method, several in _by_method(comparison).items()
        for name in several[0].settings
        if name != "model"
        for points in _group_points(name, [(each.settings.get(name), each) for each in several])
    ]


def sweep_figures(comparison: Comparison) -> Iterator[tuple[str, Any]]:
    """Draw a figure for each setting that was swept, by name: `sweep-METHOD-SETTING`."""
    drawn: Counter[str] = Counter()
    for setting in settings_swept(comparison):
        name = f"sweep-{setting.method}-{setting.name}"
        again = f"-{drawn[name]}" if drawn[name] else ""  # the same setting under other settings
        drawn[name] += 1
        yield f"{name}{again}", _sweep_figure(comparison, setting)


def _sweep_figure(comparison: Comparison, setting: Setting) -> Any:
    word = setting.name.replace("_", " ")
    figure = new_figure(comparison, f"{setting.method}: {word}", 4.6, columns=2)
    quality, cost = figure.axes
    methods = [method for _, method in setting.points]
    for axes in figure.axes:
        axes.set_xticks(range(len(methods)), [_label(value) for value, _ in setting.points])
        axes.set_xlabel(word)
        axes.margins(x=0.1)
    for score, name, colour, marker, shift in _SCORES:
        points = [(number + shift, method) for number, method in enumerate(methods)]
        _line(quality, comparison, points, score, label=name, color=colour, marker=marker, linewidth=1.6)
    quality.set_ylabel("percent, with the 95 % interval")
    quality.set_ylim(0, 103)
    quality.legend(frameon=False, loc="best")
    calls = [comparison.mean(method, "llm_calls") for method in methods]
    bars = cost.bar(range(len(calls)), [mean or 0.0 for mean in calls], width=0.55, color=SKY)
    texts = ["none counted" if mean is None else f"{mean:.1f}" for mean in calls]
    cost.bar_label(bars, texts, padding=2, fontsize=8.5)
    cost.set_ylabel("model calls per question")
    cost.grid(visible=False, axis="x")
    return figure


def error_figure(comparison: Comparison) -> Any:
    """Draw EM against the rate at which a rehearsal model errs, for trees and chains; None below two rates."""
    lines = _by_error_rate(comparison)
    if not lines:
        return None
    figure = new_figure(comparison, "EM as the model errs", 5.0)
    (axes,) = figure.axes
    # Moved a little apart, so that the intervals at one rate can be told from one another.
    spread = 0.2 * min(later - rate for points in lines.values() for (rate, _), (later, _) in pairwise(points))
    for number, (name, points) in enumerate(lines.items()):
        shift = spread * (number - (len(lines) - 1) / 2) / len(lines)
        method = points[0][1].method
        kind, colour, style = _KINDS.get(method, _OTHER)
        looks = {"color": colour, "linestyle": style, "marker": _MARKERS[number % len(_MARKERS)]}
        looks |= {"label": f"{name} ({kind})", "linewidth": 2.6 if method in _PAIR else 1.4}
        _line(axes, comparison, [(rate + shift, each) for rate, each in points], "em", **looks)
    axes.set_xlabel("how often a judgement of the model is wrong")
    axes.set_ylabel("EM, in percent, with the 95 % interval")
    axes.set_ylim(0, 103)
    axes.set_xticks(sorted({rate for points in lines.values() for rate, _ in points}))
    figure.legend(loc="outside right upper", frameon=False, fontsize=8.5)
    return figure


def _by_error_rate(comparison: Comparison) -> dict[str, Points]:
    """Find the methods that ran at several error rates with nothing else changed, in order of the rates."""
    found: dict[str, Points] = {}
    for name, several in _by_method(comparison).items():
        rates = [(error_rate(each.model), each) for each in several if comparison.mean(each, "em") is not None]
        lines = _group_points("model", [(rate, each) for rate, each in rates if rate is not None])
        # Of a method that was swept under several settings each line is named after the first of its runs.
        found.update({name if len(lines) == 1 else points[0][1].name: points for points in lines})
    return found


def _by_method(comparison: Comparison) -> dict[str, list[ScoredMethod]]:
    by_method: dict[str, list[ScoredMethod]] = defaultdict(list)
    for method in comparison.methods:
        by_method[method.method].append(method)
    return by_method


def _group_points(setting: str, points: Points) -> list[Points]:
    """Put points together that differ in nothing but one setting; without those that are alone.

    Settings that not all of them know are left out: one that came with a later version has its default before.
    """
    known = frozenset[str].intersection(*(frozenset(each.settings) for _, each in points)) if points else ()
    groups: dict[str, dict[str, tuple[Any, ScoredMethod]]] = defaultdict(dict)
    for value, each in points:
        rest = {key: chosen for key, chosen in each.settings.items() if key in known and key != setting}
        groups[repr((rest, each.reader.manifest.corpus))][repr(value)] = (value, each)
    return [sorted(group.values(), key=lambda point: _order(point[0])) for group in groups.values() if len(group) > 1]


def error_rate(model: str) -> float | None:
    """Read the error rate of a rehearsal model's spec; None for another model."""
    if not model.startswith("rehearsal:"):
        return None
    return float(dict(parse_qsl(model.partition("?")[2])).get("error", 0.0))


def _line(axes: Any, comparison: Comparison, points: Points, score: str, **looks: Any) -> None:
    """Draw a score over points with its intervals; nothing where one lacks it."""
    means = [mean for _, method in points if (mean := comparison.mean(method, score)) is not None]
    ends = [interval for _, method in points if (interval := comparison.interval(method, score))]
    if len(means) == len(ends) == len(points):
        xs = [x for x, _ in points]
        lows, highs = ([100 * end for end in side] for side in zip(*ends, strict=True))
        axes.vlines(xs, lows, highs, color=looks["color"], alpha=0.35, linewidth=1.5)
        axes.plot(xs, [100 * mean for mean in means], markersize=5.5, **looks)


def _label(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "none" if value is None else str(value)


def _order(value: JsonValue) -> tuple[int, int, Sequence[Any], str]:
    """Order numbers by size, lists by length and then by their numbers, all else as text behind them."""
    numbers = value if isinstance(value, list) else [value]
    if all(isinstance(each, int | float) for each in numbers):
        return 0, len(numbers), numbers, ""
    return 1, 0, (), str(value)
