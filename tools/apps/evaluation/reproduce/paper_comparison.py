"""Our scores next to the paper's, as a table that any writer can show."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.preliminary import EXPERIMENTS
from hopgraph.tools.apps.evaluation.report.tables import SHARES, Cell, Table, number_cell, text_cell
from hopgraph.tools.apps.evaluation.reproduce.paper_tables import PaperTable, PlannedRow, ReportedPaper

PERCENTS = frozenset({*SHARES, *(name for each in EXPERIMENTS.values() for name in each.rates)})
"""Those metrics that are shares from 0 to 1; all others are costs."""
_POOLED = (
    "Never comparable with the paper's number: the corpus is the pooled contexts of the data set's own file, "
    "a small fraction of the Wikipedia that the paper searches."
)
_OTHER_CORPUS = "Comparable with the paper's number only if the corpus is the paper's: {retriever}."


def summary_of(folder: Path, method: str) -> Mapping[str, Any]:
    """Add up a run of one method, or of one experiment; RunError where there is none, or it is damaged.

    Of an experiment `n` questions finished, `failed` ones among them, and each rate that is not over nothing. A
    question that failed has measured nothing and is left out of the rates.
    """
    reader = RunReader(folder)
    if method not in EXPERIMENTS:
        return summarize_run(reader)[method]
    outcomes = reader.latest(method).values()
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        if not outcome["error"]:
            counts.update(reader.trace(outcome)["measured"])
    rates = {key: counts[of] / counts[over] for key, (of, over) in EXPERIMENTS[method].rates.items() if counts[over]}
    return {"n": len(outcomes), "failed": sum(bool(each["error"]) for each in outcomes), **rates}


def warnings_for(table: PaperTable, dataset: str, *, pooled: bool, stand_ins: str) -> list[str]:
    """Say what keeps our numbers on a data set from being compared with the paper's; never empty.

    `pooled`: the corpus is the pooled contexts of the data set. `stand_ins` describes the models that are no language
    models.
    """
    found = [f"Not a language model's scores: {stand_ins}."] if stand_ins else []
    if dataset not in table.datasets:
        found.append(f"The paper's numbers are of {table.datasets[0]}; ours are of {dataset}, which it has not here.")
    found.append(_POOLED if pooled else _OTHER_CORPUS.format(retriever=table.retriever or "not said"))
    return found


def compare_with_paper(
    name: str,
    paper: ReportedPaper,
    table: PaperTable,
    dataset: str,
    rows: Sequence[PlannedRow],
    summaries: Mapping[str, Mapping[str, Any]],
    warnings: Sequence[str] = (),
) -> Table:
    """Put our scores next to the paper's, by its table's name, as `tor/table5`.

    Every row has the number of questions, and for every column ours and the paper's; the paper's alone where nothing
    was run. `?` follows numbers of a row that cannot be read with certainty.

    Args:
        name: the table's.
        paper: says in which scale scores are printed.
        table: of that paper.
        dataset: the data set that was asked; one that the table lacks is compared with the table's first.
        rows: as planned.
        summaries: a run's folder → the summary of its only method; a folder that is missing was not run.
        warnings: what the note must say; a copied table keeps it.
    """
    chosen = dataset if dataset in table.datasets else table.datasets[0]
    places = [place for place, column in enumerate(table.columns) if column.dataset == chosen]
    columns = ["row", *["questions"] * bool(summaries)]
    for place in places:
        head = table.columns[place].head
        columns += [f"{head} ours", "paper"] if summaries else [head]
    several = len({(row.row.model, row.row.retriever) for row in rows}) > 1
    made: list[list[Cell]] = []
    for planned in rows:
        ours = summaries.get(planned.folder, {})
        cells = [text_cell(_label(planned, several=several)), *[number_cell(ours.get("n"))] * bool(summaries)]
        for place in places:
            cells += [_ours(ours, table.columns[place].metric, paper)] * bool(summaries)
            cells.append(_theirs(planned, place, paper))
        made.append(cells)
    return Table(f"{name}: {table.title}", " ".join(warnings), columns, made)


def _label(planned: PlannedRow, *, several: bool) -> str:
    row = planned.row
    told = ", ".join(filter(None, [*([row.model, row.retriever] if several else []), "not run" * bool(planned.reason)]))
    return f"{row.label} ({told})" if told else row.label


def _ours(summary: Mapping[str, Any], metric: str | None, paper: ReportedPaper) -> Cell:
    value = summary.get(metric) if metric else None
    if value is None or metric not in PERCENTS:
        return number_cell(value, 1)
    return number_cell(100 * value, 1) if paper.scale == "percent" else number_cell(value, 3)


def _theirs(planned: PlannedRow, place: int, paper: ReportedPaper) -> Cell:
    """Show a number with the paper's own digits, but for zeros at the end."""
    value = planned.row.paper[place]
    doubt = "?" if planned.row.unsure else ""
    if value is None:
        return Cell(None, doubt)
    digits = f"{value:.3f}" if paper.scale == "share" and value == round(value, 3) else f"{value:,}"
    return Cell(value, digits + doubt)
