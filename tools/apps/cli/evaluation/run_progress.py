"""The progress of an evaluation: a moving line on a terminal, and one line at the end."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from hopgraph.tools.apps.evaluation.batch.local_engine import RunTally
from hopgraph.tools.text.sanitize import pluralize


@contextmanager
def run_progress(console: Console, tally: RunTally) -> Generator[None]:
    """Show a tally while the block runs, where the console is a terminal; leave one line where a model was asked."""
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        _Figures(tally),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        refresh_per_second=4,
    )
    bars.add_task("questions", total=tally.total, completed=tally.finished)
    try:
        with bars:
            yield
    finally:
        if tally.calls:
            console.print(Text(figures(tally), "dim"))


class _Figures(ProgressColumn):
    """Calls, tokens, cost and failures so far; it also moves the bar."""

    max_refresh = 0.25

    def __init__(self, tally: RunTally) -> None:
        super().__init__()
        self.tally = tally

    def render(self, task: Task) -> Text:
        """Write the figures, and move the bar to where the tally is."""
        task.completed = self.tally.finished
        return Text(figures(self.tally), "dim")


def figures(tally: RunTally) -> str:
    """Write a tally on one line."""
    seconds = max(time.monotonic() - tally.began, 1e-9)
    parts = [
        f"{pluralize(tally.calls, 'model call')} ({tally.calls / seconds:.1f}/s)",
        f"{tally.prompt_tokens:,} + {tally.completion_tokens:,} tokens",
    ]
    if tally.cost:
        parts.append(f"cost {tally.cost:.2f}")
    if tally.parse_failures:
        parts.append(pluralize(tally.parse_failures, "unusable reply", "unusable replies"))
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    return " · ".join(parts)
