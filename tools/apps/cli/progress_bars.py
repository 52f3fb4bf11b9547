"""Progress bars on standard error; nothing where that is no terminal."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn


@contextmanager
def progress_on(console: Console, stages: Mapping[str, str]) -> Generator[Callable[[str, int, int | None], None]]:
    """Show one bar for each stage, named as in `stages`, from its first report on; they vanish at the end.

    Yields:
        What to call with the stage, how much of it is done, and of how much (None: not known).
    """
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    tasks: dict[str, TaskID] = {}

    def report(stage: str, done: int, total: int | None) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stages.get(stage, stage), total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars:
        yield report
