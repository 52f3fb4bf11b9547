"""Terminal output of evaluations: progress, scores, cost estimates, report tables."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from rich.text import Text

from hopgraph.tools.apps.cli.console import console_on, print_line
from hopgraph.tools.apps.evaluation.batch.local_engine import RunTally
from hopgraph.tools.apps.evaluation.batch.run_directory import RunManifest, describe_missing_gold, describe_simulated
from hopgraph.tools.apps.evaluation.cost_estimate import RunEstimate
from hopgraph.tools.apps.evaluation.report.tables import Cell, Table, number_cell, percent_cell, text_cell
from hopgraph.tools.text.sanitize import pluralize, sanitize_line, truncate_line

_GAP = 2
_MAX_NAME, _MAX_HEAD = 32, 24
"""Maximum terminal columns for a method's name and a column's name."""
_BAR_SECONDS, _LINE_SECONDS = 0.25, 30.0
"""Interval of updates of the progress bar, and of progress lines without a terminal."""


def summary_console() -> Console:
    """Return a console as wide as the terminal; for other output, wide enough for tables."""
    console = console_on()
    if not console.is_terminal:
        console.width = 200
    return console


def print_table(console: Console, table: Table) -> None:
    """Print a table with its title and note, in lines that fit."""
    console.print()
    print_line(console, table.title, "bold")
    if table.note:
        print_line(console, table.note, "dim")
    flat = table.flat()
    print_cells(console, flat.columns, flat.rows)


def print_cells(console: Console, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print rows in full if they fit, else without intervals, else in blocks of columns below each other."""
    lines, widths = list[list[str]](), list[int]()
    for brief in (False, True):
        texts = [[sanitize_line(cell.brief if brief else cell.text) + cell.mark for cell in row] for row in rows]
        lines = [[truncate_line(name, _MAX_HEAD) for name in columns]]
        lines += [[truncate_line(row[0], _MAX_NAME), *row[1:]] for row in texts]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        if sum(widths) + _GAP * (len(columns) - 1) <= console.width:
            break
    for block in _blocks(widths, console.width):
        grid = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, _GAP, 0, 0))
        for number in block:
            grid.add_column(lines[0][number], justify="right" if number else "left", no_wrap=True)
        for line in lines[1:]:
            grid.add_row(*(line[number] for number in block))
        console.print(grid)


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Group columns, by number, into blocks that fit beside the names; a column that is too wide stands alone."""
    blocks: list[list[int]] = []
    used = 0
    for number, width in enumerate(widths[1:], start=1):
        if not blocks or used + _GAP + width > room:
            blocks.append([0])
            used = widths[0]
        blocks[-1].append(number)
        used += _GAP + width
    return blocks


def _percent(row: Mapping[str, Any], score: str) -> Cell:
    return percent_cell(row.get(score), sd=row.get("sd", {}).get(score))


_SUMMARY: dict[str, Callable[[Mapping[str, Any]], Cell]] = {
    "n": lambda row: number_cell(row["n"]),
    "EM": lambda row: _percent(row, "em"),
    "F1 [95 %]": lambda row: percent_cell(
        row.get("f1"), row["ci95"]["f1"] if "f1" in row else None, sd=row.get("sd", {}).get("f1"), digits=0
    ),
    "Acc": lambda row: _percent(row, "acc"),
    "judge": lambda row: percent_cell(row.get("judged")),
    "kappa of judges": lambda row: number_cell(row.get("second_judge", {}).get("kappa"), 2),
    "judge by memory": lambda row: percent_cell(row.get("judge_audit", {}).get("own_accepted")),
    "grounded F1": lambda row: _percent(row, "grounded_f1"),
    "gap closed": lambda row: percent_cell(row.get("gap_closed")),
    "R@5": lambda row: _percent(row, "recall@5"),
    "R@15": lambda row: _percent(row, "recall@15"),
    "depth": lambda row: number_cell(row.get("depth") if "recall@15" in row else None, 1),
    "calls": lambda row: number_cell(row.get("llm_calls"), 1),
    "tokens": lambda row: text_cell(
        f"{row['prompt_tokens']:,.0f} + {row['completion_tokens']:,.0f}" if "prompt_tokens" in row else ""
    ),
    "failed": lambda row: number_cell(row.get("failed", 0)),
    "EM without failed": lambda row: percent_cell(row.get("without_failed", {}).get("em")),
    "F1 without failed": lambda row: percent_cell(row.get("without_failed", {}).get("f1")),
}
"""Columns of a run's scores."""


def print_summary(
    console: Console, manifest: RunManifest, summary: Mapping[str, Mapping[str, Any]], label: str = ""
) -> None:
    """Print one line per method: scores in percent, costs per question, failures; `label` is the run's in a study."""
    facts = manifest.dataset
    head = f"{facts.name}, {facts.sample}: {pluralize(facts.questions, 'question')}"
    print_line(console, f"{label}: {head}" if label else head, "bold")
    if label := describe_simulated(manifest.methods.values()):
        print_line(console, label, "yellow")
    if missing := describe_missing_gold(manifest):
        print_line(console, missing, "yellow")
    columns = [name for name, cell in _SUMMARY.items() if any(cell(row).text for row in summary.values())]
    rows = [[text_cell(method), *(_SUMMARY[name](row) for name in columns)] for method, row in summary.items()]
    print_cells(console, ["method", *columns], rows)


def print_estimate(console: Console, estimate: RunEstimate) -> None:
    """Print the estimated calls and tokens by run and method, and their cost if prices are known."""
    print_line(console, f"{estimate.label}.", "yellow")
    priced = any(each.cost is not None for each in estimate.methods)
    columns = ["method", "questions", "calls each", "calls", "prompt tokens", "completion tokens", *["cost"] * priced]
    runs: dict[str, list[list[Cell]]] = {}
    for each in estimate.methods:
        row = [text_cell(each.method), number_cell(each.questions)]
        if each.tried:
            row += [number_cell(each.calls, 1), number_cell(each.calls * each.questions)]
            row += [number_cell(count * each.questions) for count in (each.prompt_tokens, each.completion_tokens)]
        else:
            row += [text_cell("not known"), *[text_cell("")] * 3]
        runs.setdefault(each.run, []).append([*row, *[text_cell(_cost(each.cost))] * priced])
    for label, rows in runs.items():
        if label:
            print_line(console, label, "bold")
        print_cells(console, columns, rows)
    if len(runs) > 1:
        calls = sum(each.calls * each.questions for each in estimate.methods)
        print_line(console, f"{len(runs)} runs, {calls:,.0f} model calls in total")
    if priced and estimate.cost is not None and len(estimate.methods) > 1:
        print_line(console, f"in total: {_cost(estimate.cost)}")


def _cost(cost: float | None) -> str:
    return "no price" if cost is None else f"{cost:,.2f}"


@contextmanager
def run_progress(console: Console, tally: RunTally) -> Generator[None]:
    """Show a tally while the block runs: a bar, or a line every half minute; one line stays if a model was called."""
    ended = Event()
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}", "dim", markup=False),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        refresh_per_second=1 / _BAR_SECONDS,
    )
    task = bars.add_task("questions", total=tally.total, completed=tally.finished, figures=figures(tally))

    def update() -> None:
        while not ended.wait(_BAR_SECONDS if console.is_terminal else _LINE_SECONDS):
            if console.is_terminal:
                bars.update(task, completed=tally.finished, figures=figures(tally))
            else:
                line = f"{tally.finished:,} of {tally.total:,} questions finished · {figures(tally)}"
                console.print(Text(line, "dim"), soft_wrap=True)

    Thread(target=update, daemon=True).start()
    try:
        with bars:
            yield
    finally:
        ended.set()
        if tally.calls:
            console.print(Text(figures(tally), "dim"))


def figures(tally: RunTally) -> str:
    """Return a tally as one line."""
    seconds = max(time.monotonic() - tally.began, 1e-9)
    parts = [
        f"{pluralize(tally.calls, 'model call')} ({tally.calls / seconds:.1f}/s)",
        f"{tally.prompt_tokens:,} + {tally.completion_tokens:,} tokens",
    ]
    if tally.cost:
        parts.append(f"cost {tally.cost:.2f}")
    if tally.parse_failures:
        parts.append(pluralize(tally.parse_failures, "unusable reply", "unusable replies"))
    if tally.outage_began is not None:
        parts.append(f"outage for {time.monotonic() - tally.outage_began:.0f} s")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    return " · ".join(parts)
