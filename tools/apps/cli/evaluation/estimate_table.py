"""What a run will cost, as a table."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hopgraph.tools.apps.cli.console import print_hanging
from hopgraph.tools.apps.evaluation.cost_estimate import Estimate, MethodEstimate
from hopgraph.tools.text.sanitize import sanitize_line


def print_estimate(console: Console, estimate: Estimate) -> None:
    """Print one line per method: calls and tokens of all its questions, and what they cost where prices are known."""
    print_hanging(console, Text(), Text(f"{sanitize_line(estimate.label)}.", "yellow"), indent=0)
    priced = any(each.cost is not None for each in estimate.methods)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("method", no_wrap=True)
    for name in ("questions", "calls each", "calls", "prompt tokens", "completion tokens", *(["cost"] * priced)):
        table.add_column(name, justify="right")
    for each in estimate.methods:
        table.add_row(each.method, *_cells(each), *([_cost(each.cost)] * priced))
    console.print(table)
    if priced and estimate.cost is not None and len(estimate.methods) > 1:
        console.print(Text(f"all together: {_cost(estimate.cost)}"))


def _cells(each: MethodEstimate) -> list[str]:
    if not each.tried:
        return [f"{each.questions:,}", "not known", "", "", ""]
    return [
        f"{each.questions:,}",
        f"{each.calls:.1f}",
        f"{each.all_calls:,.0f}",
        f"{each.prompt_tokens * each.questions:,.0f}",
        f"{each.completion_tokens * each.questions:,.0f}",
    ]


def _cost(cost: float | None) -> str:
    return "no price" if cost is None else f"{cost:,.2f}"
