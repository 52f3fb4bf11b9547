"""Terminal output: sanitized text, hanging indents, progress bars, and plain text in pipes."""

import json
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TaskID
from rich.text import Text
from typing_extensions import override

from hopgraph.tools.apps.runs.tree_text import ascii_signs
from hopgraph.tools.text.sanitize import pluralize, sanitize_line

LABEL_WIDTH = 11
"""Width of the left column, which names the steps."""
_MAX_WIDTH = 100  # longer lines are hard to read


class _PipedConsole(Console):
    @override
    def on_broken_pipe(self) -> None:
        """Leave exiting to `main`: rich would exit from inside a run."""
        raise BrokenPipeError


def console_on(*, stderr: bool = False) -> Console:
    """Return a console without markup, with colors only on a terminal, and at most 100 columns wide."""
    console = _PipedConsole(stderr=stderr, markup=False, highlight=False, emoji=False)
    console.width = min(console.width, _MAX_WIDTH)
    return console


def print_hanging(console: Console, label: Text, body: Text, *, indent: int = LABEL_WIDTH) -> None:
    """Print text next to a label; continuation lines are aligned with its first line."""
    if console.options.ascii_only:
        label, body = ascii_signs(label), ascii_signs(body)
    indent = max(indent, label.cell_len + 1) if label.cell_len else indent
    width = max(console.width - indent, 10)
    for number, line in enumerate(body.wrap(console, width) or [Text()]):
        line.rstrip()
        start = label.copy() if number == 0 else Text()
        start.append(" " * (indent - start.cell_len))
        joined = Text.assemble(start, line)
        joined.rstrip()
        console.print(joined, soft_wrap=True)


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print arbitrary text as one paragraph from the left edge."""
    print_hanging(console, Text(), Text(sanitize_line(text), style), indent=0)


def print_note(text: str, style: str = "yellow") -> None:
    """Print a line to standard error."""
    print_line(console_on(stderr=True), text, style)


def print_skipped(what: str, skipped: int, first: Sequence[str]) -> None:
    """Report on standard error how many invalid records were skipped, if any, and the first one's problem."""
    if skipped:
        print_note(f"{what}: skipped {pluralize(skipped, 'invalid record')}, the first: {first[0]}")


def print_json(record: object) -> None:
    """Print JSON, indented on a terminal; characters that the output cannot encode are escaped."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    indent = 2 if sys.stdout.isatty() else None
    sys.stdout.write(f"{json.dumps(record, ensure_ascii=not is_utf8, indent=indent, allow_nan=False)}\n")


@contextmanager
def show_progress(stages: Mapping[str, str]) -> Generator[Callable[[str, int, int | None], None]]:
    """Show a progress bar for each stage, named by `stages`, from its first report; they vanish at the end.

    Yields a function to call with the stage, the amount done and the total (None if unknown).
    """
    console = console_on(stderr=True)
    bars = Progress(console=console, transient=True, disable=not console.is_terminal)
    tasks: dict[str, TaskID] = {}

    def report(stage: str, done: int, total: int | None) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(escape(stages.get(stage, stage)), total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars:
        yield report
