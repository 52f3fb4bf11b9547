"""The tables of a comparison, as plain data that any writer can show."""

from collections.abc import Callable
from dataclasses import replace

from hopgraph.tools.apps.evaluation.batch.stand_ins import kinds_among, models_of, stand_ins_among
from hopgraph.tools.apps.evaluation.batch.summary import BASE, BOUND, gap_closed
from hopgraph.tools.apps.evaluation.comparison import LOSSES, Comparison, Scored
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.report.cells import Cell, Table, difference_cell, name_cell, share_cell
from hopgraph.tools.apps.evaluation.report.renaming_loss import renamed_table
from hopgraph.tools.apps.evaluation.workload import MODULES, workload

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
    "sentence_precision": "sentence P",
    "sentence_recall": "sentence R",
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
    "parse_failures": "unusable replies",
    "failed": "failed",
}
"""Costs, per question."""


def tables(comparison: Comparison, against: str | None = None) -> list[Table]:
    """Make all tables of a comparison; those that would be empty are left out.

    Each table's title names the stand-ins that answered in place of language models, since tables are copied alone.

    Args:
        comparison: the runs.
        against: the method that others are tested against; None: one-step retrieval, else the first.

    Raises:
        RunError: no method has this name.
    """
    made = [
        _scores(comparison),
        _costs(comparison),
        renamed_table(comparison),
        _tests(comparison, against or default_base(comparison)),
        _groups(comparison, "By type of question", lambda question: question.type),
        _groups(comparison, "By number of hops", _hops),
        _losses(comparison),
        _workloads(comparison),
    ]
    label = f" ({kinds}: no language model)" if (kinds := stand_in_kinds(comparison)) else ""
    return [replace(table, title=f"{table.title}{label}") for table in made if len(table.columns) > 1 and table.rows]


def default_base(comparison: Comparison) -> str:
    """Name what others are tested against when nobody says: the first one-step retrieval, else the first method."""
    found = (each.name for each in comparison.methods if each.method == BASE)
    return next(found, comparison.methods[0].name)


def simulated(comparison: Comparison) -> str:
    """Say which models are stand-ins; empty where none is."""
    return stand_ins_among(_models(comparison))


def stand_in_kinds(comparison: Comparison) -> str:
    """Name the kinds of stand-ins: `offline`, `rehearsal` or both; empty where none answered."""
    return " and ".join(kinds_among(_models(comparison)))


def _models(comparison: Comparison) -> list[str]:
    return [model for method in comparison.methods for model in models_of(method.settings)]


def _hops(question: EvalQuestion) -> str:
    return f"{question.hop_count} hops" if question.hop_count > 1 else "1 hop" if question.hop_count else ""


def _scores(comparison: Comparison) -> Table:
    shown = [name for name in SHARES if any(comparison.mean(method, name) is not None for method in comparison.methods)]
    gaps = {method.name: _gap(comparison, method) for method in comparison.methods}
    gap = any(each is not None for each in gaps.values())
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        row = [name_cell(method), Cell(len(method.rows), f"{len(method.rows):,}")]
        row += [share_cell(comparison, method, name) for name in shown]
        if gap:
            closed = gaps[method.name]
            row.append(Cell(closed, "" if closed is None else f"{100 * closed:.0f}"))
        rows.append(row)
    note = "In percent, with the 95 % bootstrap interval over questions. Grounded: the answer cites what holds it up."
    if gap:
        note += f" Gap closed: how far F1 gets from {BASE} to {BOUND}, the reader with the gold passages."
    if len({len(method.rows) for method in comparison.methods}) > 1:
        note += " Not all have finished the same questions (n); the tests compare those that both have."
    return Table("Scores", note, ["method", "n", *(SHARES[name] for name in shown), *(["gap closed"] * gap)], rows)


def _gap(comparison: Comparison, method: Scored) -> float | None:
    """Measure the gap within a method's own run: other runs may have other models."""
    return gap_closed(
        {each.method: each.rows for each in comparison.methods if each.reader is method.reader}, method.method
    )


def _costs(comparison: Comparison) -> Table:
    rows = [[name_cell(method), *(_cost(comparison, method, name) for name in COSTS)] for method in comparison.methods]
    note = (
        "Per question. Replies from a cache count as the calls that they once were; seconds are as they were measured."
    )
    return Table("Costs", note, ["method", *COSTS.values()], rows)


def _cost(comparison: Comparison, method: Scored, name: str) -> Cell:
    mean = comparison.mean(method, name)
    if mean is None:
        return Cell(None, "")
    digits = 0 if mean >= 100 or mean == 0 else 1 if mean >= 1 else 2
    return Cell(mean, f"{mean:,.{digits}f}")


def _tests(comparison: Comparison, base: str) -> Table:
    scores = {"f1": "F1", "em": "EM", "recall@15": "R@15"}
    found = {score: {each.name: each for each in comparison.differences(score, base)} for score in scores}
    shown = {score: by_name for score, by_name in found.items() if by_name}
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        if method.name == base:
            continue
        row = [name_cell(method)]
        for by_name in shown.values():
            if (each := by_name.get(method.name)) is None:
                row += [Cell(None, ""), Cell(None, "")]
                continue
            row += [difference_cell(each), Cell(each.p_holm, f"{each.p_holm:.4f}")]
        rows.append(row)
    note = (
        f"Difference from {base} on the questions that both have finished, in points, with its 95 % bootstrap "
        "interval; p by the paired permutation test, corrected for the number of methods (Holm)."
    )
    columns = [column for score in shown for column in (f"{scores[score]} difference", f"p ({scores[score]})")]
    return Table(f"Against {base}", note, ["method", *columns], rows)


def _groups(comparison: Comparison, title: str, key: Callable[[EvalQuestion], str]) -> Table:
    groups = comparison.groups(key)
    if len(groups) < 2:
        return Table(title, "", ["method"], [])
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        means = [comparison.mean(method, "f1", ids) for ids in groups.values()]
        rows.append([name_cell(method), *(Cell(mean, "" if mean is None else f"{100 * mean:.1f}") for mean in means)])
    note = "F1 in percent; in brackets the number of questions."
    return Table(title, note, ["method", *(f"{name} ({len(ids)})" for name, ids in groups.items())], rows)


def _losses(comparison: Comparison) -> Table:
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        lost = comparison.lost(method)
        if lost:
            rows.append([name_cell(method), *(Cell(lost[name], f"{lost[name]:,}") for name in LOSSES)])
    note = (
        "Questions (of the first repeat), each counted once; right is by exact match. Of a question that is not right "
        "the rightmost column that applies counts. Not retrieved: a gold passage is missing from what a search found. "
        "Parse failure: at least one reply was unusable. Budget: a limit was reached."
    )
    return Table("Where questions are lost", note, ["method", *LOSSES], rows)


def _workloads(comparison: Comparison) -> Table:
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        if (work := workload(method)) is None:
            continue
        total = sum(work.questions.values())
        shares = [
            Cell(work.questions[name] / total, f"{100 * work.questions[name] / total:.1f} ({work.right[name]:,} right)")
            for name in MODULES
        ]
        parts = sum(work.parts.values())
        rows.append([name_cell(method), *shares, Cell(parts / total, f"{parts / total:.1f}")])
    note = (
        "Which module settled the question, in percent of the questions whose steps were kept, and how many are right."
    )
    columns = ["method", *MODULES, "sub-questions per question"]
    return Table("Workload of RA-ISF's modules", note, columns, rows)
