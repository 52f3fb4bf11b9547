"""How many calls questions take, where they are lost, and what RA-ISF's modules do."""

from collections.abc import Mapping, Sequence
from typing import Any

from hopgraph.tools.apps.evaluation.comparison import LOSSES, Comparison, Loss
from hopgraph.tools.apps.evaluation.report.figures import figure_style as style
from hopgraph.tools.apps.evaluation.workload import MODULES, count_workload

_ROW, _FRAME = 0.28, 1.6
"""Inches of a method's row, and of what stands around the rows."""
_LOSS_LOOKS: dict[Loss, tuple[str, str]] = {
    "right": (style.GREEN, ""),
    "answered wrongly": (style.RED, "////"),
    "not answered": (style.YELLOW, "...."),
    "not retrieved": (style.BLUE, "\\\\\\\\"),
    "parse failure": (style.PINK, "xxxx"),
    "budget": (style.ORANGE, "----"),
    "failed": (style.GREY, "++++"),
}
"""Colour and hatching: either is enough to distinguish them."""
_MODULE_LOOKS = {
    "self-knowledge": (style.SKY, "...."),
    "passage relevance": (style.BLUE, "\\\\\\\\"),
    "decomposition": (style.ORANGE, "////"),
    "unsolved": (style.GREY, "xxxx"),
}
_NUMBER_FROM = 0.06
"""Parts of a bar from this share on have their number in them."""


def calls_figure(comparison: Comparison) -> Any:
    """Draw how many model calls the questions of each method take; None where nothing counted them."""
    rows = {
        method.name: sorted(row["llm_calls"] for row in method.rows.values() if "llm_calls" in row)
        for method in comparison.methods
    }
    rows = {name: values for name, values in rows.items() if values}
    if not rows:
        return None
    figure = style.new_figure(comparison, "Model calls per question", _FRAME + _ROW * len(rows))
    (axes,) = figure.axes
    axes.boxplot(
        list(rows.values()),
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
    _name_rows(axes, list(rows), from_one=True)
    axes.set_xlim(left=0)
    axes.set_xlabel("model calls: median in the box of the middle half, whiskers from 5 to 95 %, ◇ mean")
    return figure


def losses_figure(comparison: Comparison) -> Any:
    """Draw what became of each method's questions; None where no answers are told."""
    rows = {method.name: comparison.lost(method) for method in comparison.methods if method.losses}
    if not rows:
        return None
    shown: list[Loss] = [name for name in LOSSES if any(lost[name] for lost in rows.values())]
    counts = {name: [lost[name] for lost in rows.values()] for name in shown}
    figure = style.new_figure(comparison, "Where questions are lost", _FRAME + 0.35 + _ROW * len(rows))
    _stack(figure, list(rows), counts, {name: _LOSS_LOOKS[name] for name in shown})
    figure.axes[0].set_xlabel("share of the questions, in percent; the numbers are questions")
    return figure


def workload_figure(comparison: Comparison) -> Any:
    """Draw which of RA-ISF's modules settled the questions, and how many of those are right (Table 7).

    None where no run has RA-ISF with its steps.
    """
    works = [work for method in comparison.methods if (work := count_workload(method))]
    if not works:
        return None
    counts = {name: [work.questions[name] for work in works] for name in MODULES}
    texts = {name: [f"{work.questions[name]}\n{work.right[name]} right" for work in works] for name in MODULES}
    figure = style.new_figure(
        comparison, "Which of RA-ISF's modules settles a question", _FRAME + 0.6 + 0.55 * len(works)
    )
    _stack(figure, [work.name for work in works], counts, _MODULE_LOOKS, texts)
    figure.axes[0].set_xlabel("share of the questions, in percent; the numbers are questions, and how many are right")
    return figure


def _stack(
    figure: Any,
    names: Sequence[str],
    counts: Mapping[Any, Sequence[int]],
    looks: Mapping[Any, tuple[str, str]],
    texts: Mapping[Any, Sequence[str]] | None = None,
) -> None:
    """Draw horizontal bars of parts that add up to all questions of a row."""
    (axes,) = figure.axes
    totals = [sum(row) or 1 for row in zip(*counts.values(), strict=True)]
    starts = [0.0] * len(names)
    for part, numbers in counts.items():
        widths = [100 * number / total for number, total in zip(numbers, totals, strict=True)]
        colour, hatch = looks[part]
        axes.barh(
            range(len(names)),
            widths,
            left=starts,
            height=0.74,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.8,
            label=part,
        )
        for row, width in enumerate(widths):
            if width >= 100 * _NUMBER_FROM:
                text = texts[part][row] if texts else f"{numbers[row]}"
                _write_on(axes, starts[row] + width / 2, row, text)
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    _name_rows(axes, names)
    axes.set_xlim(0, 100)
    axes.grid(visible=False, axis="y")
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        borderaxespad=0.4,
        ncols=4,
        frameon=False,
        fontsize=8.5,
        handlelength=1.8,
    )


def _write_on(axes: Any, x: float, y: float, text: str) -> None:
    plate = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    axes.text(x, y, text, ha="center", va="center", fontsize=7.5, bbox=plate, linespacing=1.05)


def _name_rows(axes: Any, names: Sequence[str], *, from_one: bool = False) -> None:
    """Name rows, the first on top."""
    first = int(from_one)
    axes.set_yticks(range(first, first + len(names)), names)
    axes.set_ylim(first + len(names) - 0.4, first - 0.6)
    axes.tick_params(axis="y", length=0)
