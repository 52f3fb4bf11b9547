"""The tables of a comparison, as plain data that any writer can show."""

from collections.abc import Callable
from dataclasses import dataclass

from hopgraph.tools.evaluation.comparison import LOSSES, Comparison, Scored
from hopgraph.tools.evaluation.questions import EvalQuestion
from hopgraph.tools.evaluation.runs.summary import BASE, BOUND

SHARES = {
    "em": "EM",
    "f1": "F1",
    "acc": "Acc",
    "judged": "judge",
    "grounded_em": "grounded EM",
    "grounded_f1": "grounded F1",
    "recall@2": "R@2",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "recall@15": "R@15",
    "precision": "precision",
    "s_precision": "S-precision",
}
"""Scores that are shares, shown in percent."""
COSTS = {
    "llm_calls": "model calls",
    "iterations": "iterations",
    "retrievals": "searches",
    "passages": "passages read",
    "prompt_tokens": "prompt tokens",
    "completion_tokens": "completion tokens",
    "seconds": "seconds",
}
"""Costs, per question."""


@dataclass(frozen=True)
class Cell:
    """One entry: what a machine reads, and what people read."""

    value: float | str | None
    text: str


@dataclass(frozen=True)
class Table:
    """A titled table; the first column names the methods."""

    title: str
    note: str
    """How to read it; may be empty."""
    columns: list[str]
    rows: list[list[Cell]]


def tables(comparison: Comparison, against: str | None = None) -> list[Table]:
    """Make all tables of a comparison; those that would be empty are left out.

    Args:
        comparison: the runs.
        against: the method that others are tested against; None: one-step retrieval, else the first.

    Raises:
        RunError: no method has this name.
    """
    names = [method.name for method in comparison.methods]
    base = against or next((name for name in names if name.split("/")[-1] == BASE), names[0])
    made = [
        _scores(comparison),
        _costs(comparison),
        _tests(comparison, base),
        _groups(comparison, "By type of question", "F1 in percent.", lambda question: question.type),
        _groups(comparison, "By number of hops", "F1 in percent.", _hops),
        _losses(comparison),
    ]
    return [table for table in made if len(table.columns) > 1 and table.rows]


def _hops(question: EvalQuestion) -> str:
    return f"{question.hop_count} hops" if question.hop_count > 1 else "1 hop" if question.hop_count else ""


def _scores(comparison: Comparison) -> Table:
    shown = [name for name in SHARES if any(comparison.mean(method, name) is not None for method in comparison.methods)]
    low, high = (_f1_of(comparison, name) for name in (BASE, BOUND))
    gap = low is not None and high is not None and high > low
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        row = [_name(method), Cell(len(method.rows), f"{len(method.rows):,}")]
        row += [_share(comparison, method, name) for name in shown]
        if gap:
            f1 = comparison.mean(method, "f1")
            closed = None if f1 is None or low is None or high is None else (f1 - low) / (high - low)
            row.append(Cell(closed, "" if closed is None else f"{100 * closed:.0f}"))
        rows.append(row)
    note = "In percent, with the 95 % bootstrap interval over questions. Grounded: the answer cites what holds it up."
    if gap:
        note += f" Gap closed: how far F1 gets from {BASE} to {BOUND}, the reader with the gold passages."
    return Table("Scores", note, ["method", "n", *(SHARES[name] for name in shown), *(["gap closed"] * gap)], rows)


def _f1_of(comparison: Comparison, name: str) -> float | None:
    found = next((method for method in comparison.methods if method.name == name), None)
    return comparison.mean(found, "f1") if found else None


def _share(comparison: Comparison, method: Scored, score: str) -> Cell:
    mean, interval = comparison.mean(method, score), comparison.interval(method, score)
    if mean is None or interval is None:
        return Cell(None, "")
    return Cell(mean, f"{100 * mean:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]")


def _costs(comparison: Comparison) -> Table:
    rows = [[_name(method), *(_cost(comparison, method, name) for name in COSTS)] for method in comparison.methods]
    note = (
        "Per question. Replies from a cache count as the calls that they once were; seconds are as they were measured."
    )
    return Table("Costs", note, ["method", *COSTS.values()], rows)


def _cost(comparison: Comparison, method: Scored, name: str) -> Cell:
    mean = comparison.mean(method, name)
    return Cell(mean, "" if mean is None else f"{mean:,.0f}" if mean >= 100 else f"{mean:.1f}")


def _tests(comparison: Comparison, base: str) -> Table:
    rows: list[list[Cell]] = []
    found = {score: {each.name: each for each in comparison.differences(score, base)} for score in ("f1", "recall@15")}
    for method in comparison.methods:
        row = [_name(method)]
        for differences in found.values():
            each = differences.get(method.name)
            if each is None:
                row += [Cell(None, ""), Cell(None, "")]
                continue
            low, high = each.ci95
            row += [
                Cell(each.mean, f"{100 * each.mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"),
                Cell(each.p_holm, f"{each.p_holm:.4f}"),
            ]
        if method.name != base:
            rows.append(row)
    note = (
        f"Difference from {base} on the same questions with its 95 % bootstrap interval; p by the paired permutation "
        "test, corrected for the number of methods (Holm)."
    )
    columns = ["method", "F1 difference", "p", "R@15 difference", "p (R@15)"]
    return Table(f"Against {base}", note, columns, rows)


def _groups(comparison: Comparison, title: str, note: str, key: Callable[[EvalQuestion], str]) -> Table:
    groups = comparison.groups(key)
    if len(groups) < 2:
        return Table(title, note, ["method"], [])
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        means = [comparison.mean(method, "f1", ids) for ids in groups.values()]
        rows.append([_name(method), *(Cell(mean, "" if mean is None else f"{100 * mean:.1f}") for mean in means)])
    return Table(title, note, ["method", *(f"{name} ({len(ids)})" for name, ids in groups.items())], rows)


def _losses(comparison: Comparison) -> Table:
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        lost = comparison.lost(method)
        rows.append([_name(method), *(Cell(lost[name], f"{lost[name]:,}") for name in LOSSES)])
    note = "Questions, each counted once, by the first of these that applies from the right; right is by exact match."
    return Table("Where questions are lost", note, ["method", *LOSSES], rows)


def _name(method: Scored) -> Cell:
    return Cell(method.name, method.name)
