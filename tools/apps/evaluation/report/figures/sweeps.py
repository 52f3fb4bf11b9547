"""How scores and calls move with a setting, as depth and width, or with how often a rehearsal model errs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from pydantic import JsonValue

from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod
from hopgraph.tools.apps.evaluation.report.figures.figure_style import add_legend, look, new_figure

_SHOWN = {"em": ("EM, in percent, with the 95 % interval", 100), "llm_calls": ("model calls per question", 1)}
"""What is drawn, side by side: score → the axis's label, and by what it is multiplied."""
_SPREAD = 0.3
"""How far the lines are moved apart, of the distance between two values, so that their intervals stay apart."""
Points = list[tuple[Any, ScoredMethod]]
"""Value of a setting → the method with it, in order of the values."""


def settings_swept(comparison: Comparison) -> dict[str, dict[str, Points]]:
    """Find the settings in which otherwise equal runs of a method differ; return setting → line's name → its points.

    The setting `error` is how often a rehearsal model errs. A line has the name of its method; of a method that was
    swept under several other settings, further lines are named after the first of their runs.
    """
    by_method: dict[str, list[ScoredMethod]] = defaultdict(list)
    for each in comparison.methods:
        by_method[each.method].append(each)
    found: dict[str, dict[str, Points]] = defaultdict(dict)
    for method, several in by_method.items():
        for name in (*several[0].settings, "error"):
            for points in _group_points(name, several) if name != "model" else ():
                found[name][points[0][1].name if method in found[name] else method] = points
    return found


def _group_points(name: str, several: Sequence[ScoredMethod]) -> list[Points]:
    """Put runs of a method together that differ in nothing but one setting; without those that are alone.

    Settings that not all of them know are left out: one that came with a later version has its default before.
    """
    known = frozenset[str].intersection(*(frozenset(each.settings) for each in several))
    same = sorted(known - {"model" if name == "error" else name})
    groups: dict[str, dict[str, tuple[Any, ScoredMethod]]] = defaultdict(dict)
    for each in several:
        value = error_rate(each.model) if name == "error" else each.settings.get(name)
        if name != "error" or value is not None:
            rest = [each.settings[key] for key in same]
            groups[repr((rest, each.reader.manifest.corpus))][repr(value)] = (value, each)
    return [sorted(group.values(), key=lambda point: _order(point[0])) for group in groups.values() if len(group) > 1]


def sweep_figures(comparison: Comparison) -> Iterator[tuple[str, Any]]:
    """Draw a figure for each setting that was swept, by name: `sweep-SETTING`, with a line for each method."""
    for name, lines in settings_swept(comparison).items():
        yield f"sweep-{name}", _sweep_figure(comparison, name, lines)


def _sweep_figure(comparison: Comparison, name: str, lines: Mapping[str, Points]) -> Any:
    word = "how often a judgement of the model is wrong" if name == "error" else name.replace("_", " ")
    figure = new_figure(comparison, f"{word[:1].upper()}{word[1:]}", 4.6, columns=2)
    values = {repr(value): value for points in lines.values() for value, _ in points}
    places = {key: place for place, key in enumerate(sorted(values, key=lambda key: _order(values[key])))}
    for axes, (score, (label, factor)) in zip(figure.axes, _SHOWN.items(), strict=True):
        for number, (line, points) in enumerate(lines.items()):
            shift = _SPREAD * ((number + 0.5) / len(lines) - 0.5)
            colour, marker = look(number)
            drawn = [
                (places[repr(value)] + shift, factor * mean, interval)
                for value, method in points
                if (mean := comparison.mean(method, score)) is not None
                and (interval := comparison.interval(method, score))
            ]
            for x, _, (low, high) in drawn if score == "em" else ():
                axes.vlines(x, factor * low, factor * high, color=colour, alpha=0.35, linewidth=1.5)
            xs, ys = [x for x, *_ in drawn], [y for _, y, _ in drawn]
            axes.plot(xs, ys, markersize=5.5, label=line, color=colour, marker=marker)
        axes.set_xticks(range(len(places)), [_label(values[key]) for key in places])
        axes.set_xlabel(word)
        axes.set_ylabel(label)
        axes.set_ylim(0, 103 if score == "em" else None)
        axes.margins(x=0.1)
    add_legend(figure)
    return figure


def error_rate(model: str) -> float | None:
    """Read the error rate of a rehearsal model's spec; None for another model."""
    if not model.startswith("rehearsal:"):
        return None
    return float(dict(parse_qsl(model.partition("?")[2])).get("error", 0.0))


def _label(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "none" if value is None else str(value)


def _order(value: JsonValue) -> tuple[int, int, Sequence[Any], str]:
    """Order numbers by size, lists by length and then by their numbers, all else as text behind them."""
    numbers = value if isinstance(value, list) else [value]
    if all(isinstance(each, int | float) for each in numbers):
        return 0, len(numbers), numbers, ""
    return 1, 0, (), str(value)
