"""The scores of a run as a table."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hopgraph.tools.apps.cli.console import console_on, print_hanging
from hopgraph.tools.apps.evaluation.batch.run_manifest import RunManifest
from hopgraph.tools.apps.evaluation.batch.stand_ins import stand_in
from hopgraph.tools.text.sanitize import pluralize, sanitize_line

Row = Mapping[str, Any]


def _percent(key: str) -> Callable[[Row], str]:
    return lambda row: f"{100 * row[key]:.1f}" if key in row else ""


def _f1(row: Row) -> str:
    if "f1" not in row:
        return ""
    low, high = row["ci95"]["f1"]
    return f"{100 * row['f1']:.1f} [{100 * low:.0f}, {100 * high:.0f}]"


def _tokens(row: Row) -> str:
    return f"{row['prompt_tokens']:,.0f} + {row['completion_tokens']:,.0f}" if "prompt_tokens" in row else ""


_COLUMNS: dict[str, Callable[[Row], str]] = {
    "n": lambda row: f"{row['n']:,}",
    "EM": _percent("em"),
    "F1 [95 %]": _f1,
    "Acc": _percent("acc"),
    "grounded F1": _percent("grounded_f1"),
    "gap closed": _percent("gap_closed"),
    "R@5": _percent("recall@5"),
    "R@15": _percent("recall@15"),
    "calls": lambda row: f"{row['llm_calls']:.1f}" if "llm_calls" in row else "",
    "tokens": _tokens,
    "failed": lambda row: f"{row.get('failed', 0):,.0f}",
}
_FIRST_TO_GO = ("Acc", "R@5", "tokens", "gap closed", "EM", "n", "R@15")
"""What a narrow terminal leaves out, in this order; `summary.json` has it all."""


def print_summary(console: Console, manifest: RunManifest, summary: Mapping[str, Row]) -> None:
    """Print one line per method: scores in percent, costs per question, failures."""
    facts = manifest.dataset
    heading = f"{sanitize_line(facts.name)}, {facts.sample}: {pluralize(facts.questions, 'question')}"
    print_hanging(console, Text(), Text(heading, "bold"), indent=0)
    if label := stand_in(manifest):
        print_hanging(console, Text(), Text(label, "yellow"), indent=0)
    shown = [name for name in _COLUMNS if any(_COLUMNS[name](row) for row in summary.values())]
    table = _table(shown, summary)
    for name in _FIRST_TO_GO:
        if Measurement.get(console, console.options.update(max_width=1000), table).maximum <= console.width:
            break
        shown = [each for each in shown if each != name]
        table = _table(shown, summary)
    console.print(table)


def _table(columns: list[str], summary: Mapping[str, Row]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("method", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for method, row in summary.items():
        table.add_row(method, *(_COLUMNS[name](row) for name in columns))
    return table


def summary_console() -> Console:
    """Make a console as wide as the terminal, or as the table where the output goes elsewhere."""
    console = console_on()
    if not console.is_terminal:
        console.width = 200
    return console
