"""A run's tree as text, for a terminal or a file."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.text import Text
from rich.tree import Tree

from hopgraph.state import StepEvent
from hopgraph.tools.apps.runs.run_tree import RunNode, RunTree, Status, group_paragraphs, tree_depth
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.text.sanitize import sanitize_line, to_ascii, truncate_line

_SIGNS: Final[dict[Status, tuple[str, str]]] = {
    "open": ("○", ""),
    "expanded": ("→", ""),
    "found": ("·", "dim"),
    "accepted": ("✓", "green"),
    "rejected": ("✗", "dim"),
    "pruned": ("-", "dim"),
    "answered": ("✓", "green"),
    "unknown": ("?", "red"),
}
"""Sign and style of each status; with the sign, colors are not needed."""
_MAX_TEXT, _MAX_NOTE = 160, 120
"""Characters of a node's text, and of each of its notes, unless texts are shown in full."""
_GUIDE, _MIN_WIDTH = 4, 20
"""Columns per level of indentation, and the minimum for a text."""
_UNLIMITED = 1 << 24  # columns, so that lines are not broken


def ascii_signs(text: Text) -> Text:
    """Return a text with our signs in ASCII, for terminals that only support ASCII."""
    return Text("\n").join(Text(to_ascii(str(part)), part.style) for part in text.split("\n"))


def _tree_lines(root: RunNode, console: Console, options: ConsoleOptions, *, full: bool) -> list[list[Segment]]:
    """Return the lines of a tree, without trailing spaces; texts are on one line each and safe for a terminal."""

    def label(node: RunNode) -> Text:
        made = _label(node, full=full)
        return ascii_signs(made) if options.ascii_only else made

    tree = Tree(label(root), guide_style="dim")
    waiting = [(root, tree)]
    while waiting:
        node, branch = waiting.pop()
        waiting += [(child, branch.add(label(child))) for child in node.children]
    # At great depth a narrow terminal has no columns left, and wraps lines itself.
    width = max(options.max_width, _GUIDE * tree_depth(root) + _MIN_WIDTH)
    options = options.update(width=width, no_wrap=False, overflow="fold")
    return [_strip(line) for line in console.render_lines(tree, options, pad=False)]


def _label(node: RunNode, *, full: bool) -> Text:
    def cut(text: str, columns: int) -> str:
        return sanitize_line(text) if full else truncate_line(text, columns)

    sign, style = _SIGNS[node.status]
    style = "bold green" if node.evidence and node.status != "unknown" else style
    label = Text()
    if node.evidence:
        label.append("★ ", "bold yellow")
    label.append(f"{sign} {node.word} ", style)
    if node.label:
        label.append(f"{sanitize_line(node.label)}: ", "cyan")
    label.append(cut(node.text, _MAX_TEXT), "bold" if node.kind == "question" else "")
    if node.answer:
        label.append(f" → {cut(node.answer, _MAX_TEXT)}", "bold green")
    for note in node.notes:
        label.append(f"\n{cut(note, _MAX_NOTE)}", "dim")
    return label


def _strip(line: list[Segment]) -> list[Segment]:
    *before, last = line or [Segment("")]
    text = last.text.rstrip()
    return _strip(before) if before and not text else [*before, Segment(text, last.style)]


def terminal_tree(console: Console, question: str, events: Iterable[StepEvent], *, full: bool) -> list[list[Segment]]:
    """Return the lines of a run's tree so far, with full or truncated texts; empty if the run has a single step."""
    tree = build_tree(question, events)
    root = group_paragraphs(tree.root, titles=None if full else 3)
    return _tree_lines(root, console, console.options, full=full) if tree.is_multi_step else []


def draw_run_text(tree: RunTree, title: str) -> str:
    """Return a run's tree and answer as plain text: one or more lines per node, with signs in ASCII."""
    console = Console(color_system=None)
    options = console.options.update(width=_UNLIMITED)
    options.encoding = "ascii"
    nodes = _tree_lines(group_paragraphs(tree.root), console, options, full=True)
    lines = [title, "=" * len(title), "", *("".join(segment.text for segment in line) for line in nodes)]
    lines += ["", f"Answer: {sanitize_line(tree.answer)}" if tree.answer else "No answer"]
    for number, quote in enumerate(tree.quotes, start=1):
        lines.append(f'[{number}] {sanitize_line(quote["title"])}: "{sanitize_line(quote["quote"])}"')
    return "\n".join(lines)
