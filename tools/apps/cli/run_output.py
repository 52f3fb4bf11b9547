"""Showing a run on the terminal: its header, its steps, and what it is busy with."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from hopgraph.state import Context
from hopgraph.tools.apps.cli.console import LABEL_WIDTH, print_hanging
from hopgraph.tools.apps.cli.tree_output import RunPicture
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.run_header import run_header
from hopgraph.tools.text.sanitize import sanitize_line

_STYLES = {"heading": "bold", "plain": "", "dim": "dim", "good": "green", "bad": "red", "warning": "bold yellow"}
_EMPTY = Text()
_FRAMES, _LINES_ABOVE = 8, 6
"""Pictures a second; lines of the terminal that the growing tree leaves to what stands above and below it."""


def print_header(console: Console, title: str, settings: Context) -> None:
    """Print what `run_header` says."""
    line, note = run_header(title, settings)
    print_hanging(console, _EMPTY, Text(line, "bold"), indent=0)
    if note:
        print_hanging(console, _EMPTY, Text(note, "dim"), indent=0)


class Shown:
    """The account of a run on a console; on None it shows nothing.

    On a terminal the run's tree grows below the lines, where it can be wiped out again, with what the run is
    busy with; anywhere else the lines are all.
    """

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._busy = Spinner("dots", Text("starting", "dim"))
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console and self._console.is_terminal:
            self._live = Live(self._busy, console=self._console, transient=True, refresh_per_second=_FRAMES)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    @contextmanager
    def aside(self) -> Generator[None]:
        """Leave the terminal to somebody else for a while."""
        if self._live:
            self._live.stop()
        yield
        if self._live:
            self._live.start(refresh=True)

    def step(self, node: str) -> None:
        """Say which node is at work, where that can be wiped out again."""
        self._busy.update(text=Text(sanitize_line(node).replace("_", " "), "dim"))

    def picture(self, picture: RunPicture) -> None:
        """Show the tree so far, where it can be wiped out again."""
        if self._console and self._live:
            room = max(self._console.size.height - _LINES_ABOVE, 3)
            self._live.update(Group(replace(picture, last_lines=room), self._busy))

    def lines(self, lines: list[Line]) -> None:
        """Print lines."""
        if self._console:
            for line in lines:
                _print_line(self._console, line)


def print_picture(console: Console, picture: RunPicture) -> None:
    """Print the finished tree under a heading; nothing where it says no more than the list of steps."""
    if any(console.render_lines(picture, pad=False)):
        console.print()
        print_hanging(console, _EMPTY, Text("The run", "bold"), indent=0)
        console.print(picture, crop=False)


def _print_line(console: Console, line: Line) -> None:
    if line.style == "heading":
        console.print()
        print_hanging(console, _EMPTY, Text(line.text, "bold"), indent=0)
        return
    style = _STYLES[line.style]
    label = Text.assemble((f"  {line.label}", "yellow" if line.style == "warning" else "cyan"))
    if not line.mark:
        print_hanging(console, label, Text(line.text, style))
        return
    label.append(" " * (LABEL_WIDTH - label.cell_len))
    label.append(line.mark, style)
    print_hanging(console, label, Text(line.text, style), indent=LABEL_WIDTH + 2)
