"""Our scores beside the paper's, as a table that any writer can show."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.summary import summarise
from hopgraph.tools.apps.evaluation.report.cells import Cell, Table
from hopgraph.tools.apps.evaluation.report.tables import COSTS, SHARES
from hopgraph.tools.apps.evaluation.reproduce.experiments import EXPERIMENTS, RATES, experiment_summary
from hopgraph.tools.apps.evaluation.reproduce.paper_tables import Column, Paper, PaperTable
from hopgraph.tools.apps.evaluation.reproduce.run_plan import PlannedRow

KNOWLEDGE_TOKENS = "knowledge_tokens"
"""Tokens of the passages shown, per question: a cost that a run's usage has and its summary may lack."""
PERCENTS = frozenset({*SHARES, *RATES})
"""Those that are shares from 0 to 1."""
METRICS = frozenset({*PERCENTS, *COSTS, KNOWLEDGE_TOKENS})
"""What a column can be compared with."""
_POOLED = (
    "Never comparable with the paper's number: the corpus is the pooled contexts of the data set's own file, "
    "a small fraction of the Wikipedia that the paper searches."
)
_OTHER_CORPUS = "Comparable with the paper's number only if the corpus is the paper's: {retriever}."
_NONE = Cell(None, "")


def summary_of(folder: Path, method: str) -> dict[str, Any]:
    """Add up a run of one method, with the tokens of the passages that it showed, or of one experiment.

    Raises:
        RunError: there is no run, or it is damaged.
    """
    if method in EXPERIMENTS:
        return experiment_summary(folder, method)
    reader = RunReader(folder)
    found = dict(summarise(reader)[method])
    shown = [usage[KNOWLEDGE_TOKENS] for each in reader.latest(method).values() if (usage := each["usage"])]
    return {**({KNOWLEDGE_TOKENS: fmean(shown)} if shown else {}), **found}


def columns_for(table: PaperTable, dataset: str) -> list[Column]:
    """Choose the columns of a data set; of the table's first one where the table does not have it."""
    chosen = dataset if dataset in table.datasets else table.datasets[0]
    return [column for column in table.columns if column.dataset == chosen]


def warnings_for(table: PaperTable, dataset: str, *, pooled: bool, stand_ins: str) -> list[str]:
    """Say what keeps our numbers from being compared with the paper's; never empty.

    Args:
        table: the paper's.
        dataset: the data set that was asked.
        pooled: whether the corpus is the pooled contexts of the data set.
        stand_ins: what `stand_ins_among` says of the models; empty for language models.
    """
    found = [f"Not a language model's scores: {stand_ins}."] if stand_ins else []
    if dataset not in table.datasets:
        found.append(f"The paper's numbers are of {table.datasets[0]}; ours are of {dataset}, which it has not here.")
    found.append(_POOLED if pooled else _OTHER_CORPUS.format(retriever=table.retriever or "not said"))
    return found


def beside(
    name: str,
    paper: Paper,
    table: PaperTable,
    dataset: str,
    rows: Sequence[PlannedRow],
    summaries: Mapping[str, Mapping[str, Any]],
    warnings: Sequence[str],
) -> Table:
    """Put our scores beside the paper's.

    Args:
        name: the table's, as `tor/table5`.
        paper: whose table it is; it tells in which scale scores are printed.
        table: the paper's.
        dataset: the data set that was asked.
        rows: as planned.
        summaries: a run's folder → the summary of its only method; a folder that is missing was not run.
        warnings: what the note must say; a copied table keeps it.

    Returns:
        For every row the number of questions, and for every column ours and the paper's; the paper's alone where
        nothing was run. `?` stands behind numbers of a row that cannot be read with certainty.
    """
    columns = columns_for(table, dataset)
    ran = bool(summaries)
    heads = [head for column in columns for head in ((f"{column.head} ours", "paper") if ran else (column.head,))]
    several = len({row.row.model for row in rows}) > 1 or len({row.row.retriever for row in rows}) > 1
    made: list[list[Cell]] = []
    for planned in rows:
        ours: Mapping[str, Any] = summaries.get(planned.run.folder, {}) if planned.run else {}
        label = _label(planned, several=several)
        cells = [Cell(label, label), *([_count(ours.get("n"))] if ran else [])]
        for column in columns:
            cells += [_ours(ours, column, paper)] if ran else []
            cells.append(_theirs(planned, table.columns.index(column), paper))
        made.append(cells)
    return Table(f"{name}: {table.title}", " ".join(warnings), ["row", *(["questions"] if ran else []), *heads], made)


def _label(planned: PlannedRow, *, several: bool) -> str:
    details = [planned.row.model, planned.row.retriever] if several else []
    if not planned.run:
        details.append("not run")
    return f"{planned.row.label} ({', '.join(filter(None, details))})" if any(details) else planned.row.label


def _count(number: int | None) -> Cell:
    return _NONE if number is None else Cell(number, f"{number:,}")


def _ours(summary: Mapping[str, Any], column: Column, paper: Paper) -> Cell:
    value = summary.get(column.metric) if column.metric else None
    if value is None:
        return _NONE
    shown = 100 * value if column.metric in PERCENTS and paper.scale == "percent" else value
    return Cell(shown, _text(shown, paper, column))


def _theirs(planned: PlannedRow, place: int, paper: Paper) -> Cell:
    """Show a number with the paper's own digits, but for zeros at the end."""
    value = planned.row.paper[place]
    doubt = "?" if planned.row.unsure else ""
    if value is None:
        return Cell(None, doubt)
    digits = f"{value:.3f}" if paper.scale == "share" and value == round(value, 3) else f"{value:,}"
    return Cell(value, digits + doubt)


def _text(value: float, paper: Paper, column: Column) -> str:
    return f"{value:.3f}" if paper.scale == "share" and column.metric in PERCENTS else f"{value:,.1f}"
