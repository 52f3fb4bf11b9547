"""How far an evaluation is: one line that moves on a terminal, now and then a line elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from hopgraph.tools.apps.evaluation.batch.local_engine import Tally
from hopgraph.tools.text.sanitize import pluralize


class RunProgress:
    """Shows a tally while the block runs."""

    def __init__(self, console: Console, tally: Tally) -> None:
        """Prepare; nothing is shown where the console is no terminal, but one line at the end."""
        self.console, self.tally = console, tally
        self._bars = Progress(
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

    def __enter__(self) -> Self:
        """Begin to show it."""
        self._bars.add_task("questions", total=self.tally.total, completed=self.tally.finished)
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave one line behind, where a model was asked."""
        self._bars.stop()
        if not self.tally.calls:
            return
        self.console.print(Text(figures(self.tally), "dim"))


class _Figures(ProgressColumn):
    """Calls, tokens, cost and failures so far; it also moves the bar."""

    max_refresh = 0.25

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self.tally = tally

    def render(self, task: Task) -> Text:
        """Write the figures; the bar goes as far as the tally."""
        task.completed = self.tally.finished
        return Text(figures(self.tally), "dim")


def figures(tally: Tally) -> str:
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
