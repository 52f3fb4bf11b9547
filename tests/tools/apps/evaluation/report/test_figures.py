"""Figures: which are drawn for which runs, their content, and labels without overlaps."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.state import SpecError
from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.report.figures import (
    draw_figures,
    drawing,
    quality_figure,
)
from support.hand_made_runs import outcome, question, usage, write_run

pytest.importorskip("matplotlib")
QUESTIONS = [question(f"q{number}", "Ann") for number in range(4)]
Make = Callable[..., Any]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a run of a method with this many right answers."""

    def write(label: str, settings: dict[str, Any], right: int = 2, method: str = "tree_of_reviews") -> Any:
        outcomes = [
            outcome(method, each.id, "Ann" if number < right else "Zoe", usage=usage(3 + number))
            for number, each in enumerate(QUESTIONS)
        ]
        return write_run(tmp_path / label, QUESTIONS, outcomes, {method: settings})

    return write


def words(path: Path) -> str:
    """Return the texts of an SVG file, which matplotlib keeps as comments next to their outlines."""
    return "\n".join(re.findall(r"<!-- (.*?) -->", path.read_text()))


@pytest.mark.slow
def test_every_figure_with_data_is_drawn(make: Make, tmp_path: Path) -> None:
    spec = "rehearsal:x.json?error="
    runs = [make(f"e{rate}", {"model": f"{spec}{rate}"}, 3 - number) for number, rate in enumerate((0, 0.2, 0.4))]
    runs += [make(f"w{width}", {"model": f"{spec}0.1", "widths": (width,)}) for width in (3, 5)]
    runs += [make(f"c{rate}", {"model": f"{spec}{rate}"}, 1, "chain_of_reviews") for rate in (0, 0.4)]
    written = draw_figures(compare_runs(runs), tmp_path / "figures")
    names = ["quality-by-calls", "quality-by-tokens", "calls", "losses"]
    assert [path.name for path in written] == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    for path in written:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
        if path.suffix == ".svg":
            assert "not a language model" in words(path), path


@pytest.mark.long
def test_the_same_runs_give_the_same_files(make: Make, tmp_path: Path) -> None:
    comparison = compare_runs([make("run", {})])
    first = {path.name: path.read_bytes() for path in draw_figures(comparison, tmp_path / "one")}
    second = {path.name: path.read_bytes() for path in draw_figures(comparison, tmp_path / "two")}
    assert list(first) == [
        f"{name}.{kind}"
        for name in ("quality-by-calls", "quality-by-tokens", "calls", "losses")
        for kind in ("png", "svg")
    ]
    assert first == second


def test_all_methods_are_labeled_and_look_different(tmp_path: Path) -> None:
    names = [name for name in METHODS if name not in ALIASES]
    outcomes = [
        outcome(name, each.id, "Ann" if (number + place) % 3 else "Zoe", usage=usage(1 + place % 4))
        for place, name in enumerate(names)
        for number, each in enumerate(QUESTIONS)
    ]
    comparison = compare_runs([write_run(tmp_path, QUESTIONS, outcomes, {name: {} for name in names})])
    with drawing():
        figure = quality_figure(comparison, "model calls per question", "llm_calls")
        figure.draw_without_rendering()
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.texts] == names
        assert figure.bbox.containsy(legend.get_window_extent().y0)
    looks = {
        (line.get_marker(), line.get_markeredgecolor()) for line in figure.axes[0].lines if line.get_label() in names
    }
    assert len(looks) == len(names)


@pytest.mark.slow
def test_hostile_names_are_drawn_literally(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / f"$x^{{$ <b>&{number}", QUESTIONS, [outcome("migres", "q1", "Ann")], {"migres": {}})
        for number in range(2)
    ]
    written = draw_figures(compare_runs(runs), tmp_path / "out")
    assert "$x^{$" in words(next(path for path in written if path.name == "losses.svg"))
    assert "<b>" not in (tmp_path / "out" / "losses.svg").read_text().replace("<!-- $x^{$ <b>", "")


def test_a_missing_matplotlib_names_the_extra(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = compare_runs([make("run", {})])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SpecError, match=r"matplotlib is not installed; run: pip install 'hopgraph\[figures\]'"):
        draw_figures(comparison, tmp_path / "figures")
