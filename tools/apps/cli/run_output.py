"""Show a run on the terminal: its header, its lines, its growing tree, and the node at work."""

from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.segment import Segment, SegmentLines
from rich.spinner import Spinner
from rich.style import Style
from rich.text import Text

from hopgraph.state import Context
from hopgraph.tools.apps.cli.console import LABEL_WIDTH, print_hanging
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.run_header import run_header
from hopgraph.tools.apps.runs.tree_text import TerminalTree
from hopgraph.tools.text.sanitize import sanitize_line

_STYLES = {"heading": "bold", "plain": "", "dim": "dim", "good": "green", "bad": "red", "warning": "bold yellow"}
_EMPTY = Text()
_FRAMES, _LINES_ABOVE = 8, 6
"""Frames a second; lines of the terminal that the growing tree leaves free."""


def print_header(console: Console, title: str, settings: Context) -> None:
    """Print the line of `run_header`, and its note on the embedded model."""
    line, note = run_header(title, settings)
    print_hanging(console, _EMPTY, Text(line, "bold"), indent=0)
    if note:
        print_hanging(console, _EMPTY, Text(note, "dim"), indent=0)


class RunDisplay:
    """A run on a console; on None it shows nothing.

    On a terminal the run's tree grows below the lines, with the node at work, and is erased at the end; anywhere else
    only lines are printed.
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
    def pause(self) -> Generator[None]:
        """Stop the live display, so that a person can be asked."""
        if self._live:
            self._live.stop()
        yield
        if self._live:
            self._live.start(refresh=True)

    def show_node(self, node: str) -> None:
        """Show which node is at work."""
        self._busy.update(text=Text(sanitize_line(node).replace("_", " "), "dim"))

    def show_tree(self, tree: TerminalTree) -> None:
        """Show the tree so far; its last lines where the terminal has no room for all."""
        if self._console and self._live:
            lines = self._console.render_lines(tree, pad=False)  # once, and not for each frame
            room = max(self._console.size.height - _LINES_ABOVE, 3)
            if len(lines) > room:
                lines = [[Segment("...", Style(dim=True))], *lines[1 - room :]]
            self._live.update(Group(SegmentLines(lines, new_lines=True), self._busy))

    def print_lines(self, lines: list[Line]) -> None:
        """Print lines."""
        if self._console:
            for line in lines:
                _print_line(self._console, line)


def print_tree(console: Console, tree: TerminalTree) -> None:
    """Print the finished tree under a heading; nothing where it says no more than the list of steps."""
    if any(console.render_lines(tree, pad=False)):
        console.print()
        print_hanging(console, _EMPTY, Text("The run", "bold"), indent=0)
        console.print(tree, crop=False)


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
