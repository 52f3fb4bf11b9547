"""How scores and calls move with a setting: depth and width, and how often a rehearsal model errs."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from pydantic import JsonValue

from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod
from hopgraph.tools.apps.evaluation.report.figures.figure_style import BLUE, GREY, ORANGE, RED, SKY, new_figure

_HEIGHT = 4.6
_REHEARSAL = "rehearsal:"
_TREES = ("tree_of_reviews", "ra_isf")
_CHAINS = ("chain_of_reviews", "ircot", "react", "iter_retgen", "self_ask", "genground", "migres")
_PAIR = ("tree_of_reviews", "chain_of_reviews")
"""The same review on a tree and on a chain: the comparison of the Tree of Reviews paper, drawn thicker."""
_MARKERS = "osD^vPX*<>hp"


class Setting(NamedTuple):
    """A setting in which otherwise equal runs of a method differ."""

    method: str
    name: str
    points: list[tuple[JsonValue, ScoredMethod]]
    """Value → the method with it, in order of the values."""


def settings_swept(comparison: Comparison) -> list[Setting]:
    """Find the methods that several runs have, with settings that differ in nothing but one."""
    found: list[Setting] = []
    for name, several in _by_method(comparison).items():
        groups: dict[tuple[str, str], list[tuple[JsonValue, ScoredMethod]]] = defaultdict(list)
        for setting in several[0].settings:
            for each in several:
                groups[setting, _all_but(setting, each, several)].append((each.settings.get(setting), each))
        for (setting, _), points in groups.items():
            values = {repr(value): (value, each) for value, each in points}
            if len(values) > 1 and setting != "model":
                found.append(Setting(name, setting, sorted(values.values(), key=lambda point: _order(point[0]))))
    return found


def sweep_figures(comparison: Comparison) -> Iterator[tuple[str, Callable[[], Any]]]:
    """List a figure for each setting that was swept, by name: `sweep-METHOD-SETTING`."""
    drawn: set[str] = set()
    for setting in settings_swept(comparison):
        base = name = f"sweep-{setting.method}-{setting.name}"
        while name in drawn:  # the same setting under other settings
            name = f"{base}-{len(drawn)}"
        drawn.add(name)
        yield name, partial(_sweep_figure, comparison, setting)


def _sweep_figure(comparison: Comparison, setting: Setting) -> Any:
    word = setting.name.replace("_", " ")
    figure = new_figure(comparison, f"{setting.method}: {word}", _HEIGHT, columns=2)
    quality, cost = figure.axes
    labels = [_label(value) for value, _ in setting.points]
    methods = [method for _, method in setting.points]
    for axes in figure.axes:
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlabel(word)
        axes.margins(x=0.1)
    for score, name, colour, marker, shift in (
        ("em", "EM", BLUE, "o", -0.06),
        ("f1", "F1", ORANGE, "s", 0.0),
        ("recall@15", "R@15", RED, "^", 0.06),
    ):
        xs = [number + shift for number in range(len(methods))]
        _line(quality, comparison, list(zip(xs, methods, strict=True)), score, name, colour, marker)
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
        shift = spread * (number - (len(lines) - 1) / 2) / max(len(lines), 1)
        moved = [(rate + shift, each) for rate, each in points]
        method = points[0][1].method
        colour, style = _kind(method)
        kind = "tree" if method in _TREES else "chain" if method in _CHAINS else "other"
        marker = _MARKERS[number % len(_MARKERS)]
        _line(axes, comparison, moved, "em", f"{name} ({kind})", colour, marker, style, 2.6 if method in _PAIR else 1.4)
    axes.set_xlabel("how often a judgement of the model is wrong")
    axes.set_ylabel("EM, in percent, with the 95 % interval")
    axes.set_ylim(0, 103)
    axes.set_xticks(sorted({rate for points in lines.values() for rate, _ in points}))
    figure.legend(loc="outside right upper", frameon=False, fontsize=8.5)
    return figure


def _by_error_rate(comparison: Comparison) -> dict[str, list[tuple[float, ScoredMethod]]]:
    """Find the methods that ran at several error rates with nothing else changed, in order of the rates."""
    found: dict[str, list[tuple[float, ScoredMethod]]] = {}
    for name, several in _by_method(comparison).items():
        groups: dict[str, dict[float, ScoredMethod]] = defaultdict(dict)
        for each in several:
            rate = error_rate(each.model)
            if rate is not None and comparison.mean(each, "em") is not None:
                groups[_all_but("model", each, several)][rate] = each
        lines = [sorted(points.items()) for points in groups.values() if len(points) > 1]
        # Of a method that was swept under several settings each line is named after the first of its runs.
        found.update({name if len(lines) == 1 else points[0][1].name: points for points in lines})
    return found


def _by_method(comparison: Comparison) -> dict[str, list[ScoredMethod]]:
    by_method: dict[str, list[ScoredMethod]] = defaultdict(list)
    for method in comparison.methods:
        by_method[method.method].append(method)
    return by_method


def _all_but(setting: str, method: ScoredMethod, several: Sequence[ScoredMethod]) -> str:
    """Write down everything that shapes a method's results but one setting.

    What not all of `several` know is left out: a setting that came with a later version has its default before.
    """
    known = frozenset[str].intersection(*(frozenset(each.settings) for each in several))
    rest = {key: value for key, value in method.settings.items() if key in known and key != setting}
    return repr((rest, method.reader.manifest.corpus))


def error_rate(model: str) -> float | None:
    """Read the error rate of a rehearsal model's spec; None for another model."""
    if not model.startswith(_REHEARSAL):
        return None
    return float(dict(parse_qsl(model.partition("?")[2])).get("error", 0.0))


def _kind(method: str) -> tuple[str, str]:
    """Choose colour and line: trees solid, chains dashed, others dotted."""
    if method in _TREES:
        return (BLUE, "-")
    return (ORANGE, "--") if method in _CHAINS else (GREY, ":")


def _line(
    axes: Any,
    comparison: Comparison,
    points: Sequence[tuple[float, ScoredMethod]],
    score: str,
    label: str,
    colour: str,
    marker: str,
    style: str = "-",
    width: float = 1.6,
) -> None:
    """Draw a score over points with its intervals; nothing where one lacks it."""
    means = [comparison.mean(method, score) for _, method in points]
    intervals = [comparison.interval(method, score) for _, method in points]
    xs = [x for x, _ in points]
    if any(mean is None for mean in means):
        return
    values = [100 * (mean or 0.0) for mean in means]
    for x, interval in zip(xs, intervals, strict=True):
        if interval:
            axes.plot([x, x], [100 * interval.low, 100 * interval.high], color=colour, alpha=0.35, linewidth=1.5)
    axes.plot(xs, values, color=colour, marker=marker, markersize=5.5, linestyle=style, label=label, linewidth=width)


def _label(value: JsonValue) -> str:
    return (
        ", ".join(map(str, value)) if isinstance(value, list) else str(value).lower() if value is None else str(value)
    )


def _order(value: JsonValue) -> tuple[float, Sequence[float], str]:
    """Order numbers by size, lists by length and then by their numbers, all else as text behind them."""
    if isinstance(value, bool | int | float):
        return (0.0, (float(value),), "")
    if isinstance(value, list) and all(isinstance(each, int | float) for each in value):
        return (1.0, (float(len(value)), *(float(each) for each in value if isinstance(each, int | float))), "")
    return (2.0, (), str(value))
