"""A run's tree on the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text
from rich.tree import Tree

from hopgraph.state import StepEvent
from hopgraph.tools.apps.cli.console import in_ascii
from hopgraph.tools.apps.runs.trees import EVIDENCE, ShownNode, depth_below, grows, tree_of, view_of
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

_STYLES = {
    "open": "",
    "expanded": "",
    "found": "dim",
    "accepted": "green",
    "rejected": "dim",
    "pruned": "dim",
    "answered": "green",
    "unknown": "red",
}
_TEXT_SHOWN, _NOTE_SHOWN = 160, 120
"""Characters of a node's text, and of each of its notes, unless everything is asked for."""
_GUIDE, _NARROWEST = 4, 20
"""Columns of a level's guide, and the fewest that a text gets."""


def rich_tree(root: ShownNode, *, full: bool = False, ascii_only: bool = False) -> Tree:
    """Make a tree for a console; its texts are on one line each and do nothing to a terminal.

    Args:
        root: What it shows.
        full: Show texts in full.
        ascii_only: Write our own signs in ASCII.
    """

    def label(shown: ShownNode) -> Text:
        made = _label(shown, full=full)
        return in_ascii(made) if ascii_only else made

    tree = Tree(label(root), guide_style="dim")
    waiting = [(root, tree)]
    while waiting:
        shown, branch = waiting.pop()
        waiting += [(below, branch.add(label(below))) for below in shown.below]
    return tree


def _label(shown: ShownNode, *, full: bool) -> Text:
    style = "bold green" if shown.evidence and shown.status != "unknown" else _STYLES[shown.status]
    label = Text()
    if shown.evidence:
        label.append(f"{EVIDENCE} ", "bold yellow")
    label.append(f"{shown.sign} {shown.word} ", style)
    if shown.label:
        label.append(f"{sanitize_line(shown.label)}: ", "cyan")
    label.append(_cut(shown.text, _TEXT_SHOWN, full=full), "bold" if shown.kind == "question" else "")
    if shown.answer:
        label.append(f" → {_cut(shown.answer, _TEXT_SHOWN, full=full)}", "bold green")
    for note in shown.notes:
        label.append(f"\n{_cut(note, _NOTE_SHOWN, full=full)}", "dim")
    return label


def _cut(text: str, columns: int, *, full: bool) -> str:
    return sanitize_line(text) if full else truncate_line(text, columns)


@dataclass(frozen=True)
class RunPicture:
    """The tree of a run so far; it prints nothing while it says no more than the list of steps."""

    question: str
    events: Sequence[StepEvent]
    full: bool
    """Whether texts are shown in full."""
    last_lines: int | None = None
    """How many lines there is room for; then the last ones are shown. None for all."""

    @cached_property
    def _root(self) -> ShownNode | None:
        tree = tree_of(self.question, self.events)
        return view_of(tree, titles=None if self.full else 3) if grows(tree) else None

    @cached_property
    def _drawn(self) -> dict[tuple[int, bool], list[list[Segment]]]:
        """The lines by width and by whether they are ASCII: a picture is shown many times while it grows."""
        return {}

    def _lines(self, root: ShownNode, console: Console, options: ConsoleOptions) -> list[list[Segment]]:
        # Deep down a narrow terminal has no column left; there it breaks the lines itself.
        width = max(options.max_width, _GUIDE * depth_below(root) + _NARROWEST)
        kind = (width, options.ascii_only)
        if kind not in self._drawn:
            tree = rich_tree(root, full=self.full, ascii_only=options.ascii_only)
            # Lines that are printed above it are not to be broken; these are.
            broken = options.update(width=width, no_wrap=False, overflow="fold")
            self._drawn[kind] = [_stripped(line) for line in console.render_lines(tree, broken, pad=False)]
        return self._drawn[kind]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Make the lines."""
        if self._root is None:
            return
        lines = self._lines(self._root, console, options)
        if self.last_lines is not None and len(lines) > self.last_lines:
            lines = lines[len(lines) - self.last_lines + 1 :]
            yield Text("...", "dim")
        for line in lines:
            yield from line
            yield Segment.line()


def _stripped(line: list[Segment]) -> list[Segment]:
    """Take the trailing spaces off a line."""
    *before, last = line or [Segment("")]
    text = last.text.rstrip()
    if not text and before:
        return _stripped(before)
    return [*before, Segment(text, last.style)]
