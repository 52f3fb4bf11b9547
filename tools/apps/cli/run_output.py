"""Show a run on the terminal: its header, steps, growing tree, active node, and answer."""

import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment, SegmentLines
from rich.spinner import Spinner
from rich.style import Style
from rich.text import Text

from hopgraph.nodes.chat.reply import NO_USABLE_REPLY
from hopgraph.state import Context, StepEvent, Usage
from hopgraph.state.records import has_no_usable_reply
from hopgraph.tools.apps.cli.console import LABEL_WIDTH, print_hanging, print_line
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.narration import is_stand_in, run_header
from hopgraph.tools.apps.runs.tree_text import terminal_tree
from hopgraph.tools.retrieval.passage_metadata import describe_location, name_citation
from hopgraph.tools.text.sanitize import pluralize, sanitize_line

_ENDS = {
    "answered": "answered",
    "unanswerable": "ended without an answer",
    "max_iterations": "stopped at the last iteration",
    "max_depth": "stopped at the maximum depth",
    "budget": "stopped because the budget is used up",
}
_STYLES = {"heading": "bold", "plain": "", "dim": "dim", "good": "green", "bad": "red", "warning": "bold yellow"}
_FRAMES, _LINES_ABOVE = 8, 6
"""Frames per second; terminal lines that the growing tree leaves free."""
_STAND_IN = "No language model set; a rule-based one answers. Use --model or HOPGRAPH_MODEL"
MAX_LINES, _MAX_DETAILS = 40, 3
"""Maximum lines of a run's steps, and of its tree, unless all are requested; and of details below one step."""


def print_header(console: Console, title: str, settings: Context) -> None:
    """Print the line of `run_header`, preceded by a note if the rule-based model answers."""
    print_stand_in(console, settings)
    print_line(console, run_header(title, settings), "bold")


def print_stand_in(console: Console, settings: Context) -> None:
    """Print a note if the rule-based model answers."""
    if is_stand_in(settings):
        print_line(console, _STAND_IN, "yellow")


class RunDisplay:
    """A run on a console: its lines, abridged unless `whole`; on a terminal also the tree and the active node."""

    def __init__(self, console: Console, *, whole: bool = False) -> None:
        self._console = console
        self._whole, self._shown, self._details, self._folded = whole, 0, 0, 0
        self._busy = Spinner("dots", Text("starting", "dim"))
        moving = console.is_terminal
        self._live = Live(self._busy, console=console, transient=True, auto_refresh=moving, refresh_per_second=_FRAMES)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()
        if self._folded:
            print_line(self._console, f"  … {self._folded:,} more lines of steps; --verbose shows all", "dim")

    @contextmanager
    def pause(self) -> Generator[None]:
        """Stop the live display, so that a person can be asked."""
        self._live.stop()
        yield
        self._live.start(refresh=True)

    def show_node(self, node: str) -> None:
        """Show which node is active."""
        self._busy.update(text=Text(sanitize_line(node).replace("_", " "), "dim"))

    def show_tree(self, question: str, events: Iterable[StepEvent]) -> None:
        """Show the tree so far; only its last lines if the terminal is too small."""
        if self._console.is_terminal:
            lines = terminal_tree(self._console, question, events, full=self._whole)
            room = max(self._console.size.height - _LINES_ABOVE, 3)
            if len(lines) > room:
                lines = [[Segment("...", Style(dim=True))], *lines[1 - room :]]
            self._live.update(Group(SegmentLines(lines, new_lines=True), self._busy))

    def print_lines(self, lines: Iterable[Line]) -> None:
        """Print lines of a narration."""
        for line in lines:
            if self._folds(line):
                continue
            if line.style == "heading":
                self._console.print()
                print_line(self._console, line.text, "bold")
                continue
            style, indent = _STYLES[line.style], LABEL_WIDTH
            label = Text.assemble((f"  {line.label}", "yellow" if line.style == "warning" else "cyan"))
            if line.mark:
                label.append(" " * (indent - label.cell_len)).append(line.mark, style)
                indent += 2
            print_hanging(self._console, label, Text(line.text, style), indent=indent)

    def _folds(self, line: Line) -> bool:
        """Count a line as shown or folded, and return whether it is folded."""
        self._details = 0 if line.label or line.style == "heading" else self._details + 1
        if self._whole or line.style == "warning":
            return False
        folds = self._shown >= MAX_LINES or self._details > _MAX_DETAILS
        self._shown += not folds
        self._folded += folds
        return folds


def print_tree(console: Console, question: str, events: Iterable[StepEvent], *, whole: bool = False) -> None:
    """Print the finished tree, only MAX_LINES unless `whole`; nothing if it adds nothing to the steps."""
    lines = terminal_tree(console, question, events, full=whole)
    if not lines:
        return
    console.print()
    print_line(console, "The run", "bold")
    shown = lines if whole else lines[:MAX_LINES]
    console.print(SegmentLines(shown, new_lines=True), end="", crop=False)
    if rest := len(lines) - len(shown):
        print_line(console, f"… {rest:,} more lines; --verbose shows all", "dim")


def print_answer(console: Console, state: Mapping[str, Any], seconds: float | None) -> None:
    """Print the final answer with numbered citations; with `seconds`, also how the run ended and its usage."""
    if seconds is not None:
        console.print()
    _print_conclusion(console, state, short=seconds is None)
    if state["citations"]:
        console.print()
    width = len(f"[{len(state['citations'])}] ")
    for number, citation in enumerate(state["citations"], start=1):
        title, place = sanitize_line(name_citation(citation)), sanitize_line(describe_location(citation))
        said = f" · {place}" if place else ""
        if citation["kind"] == "model":
            said = " (said by the model, not found in the corpus)"
        label, quote = Text(f"[{number}]", "cyan"), f"“{sanitize_line(citation['quote'])}”"
        print_hanging(console, label, Text.assemble((title, "bold"), (said, "dim")), indent=width)
        print_hanging(console, Text(), Text(quote), indent=width)
    if seconds is not None:
        console.print()
        ended = _ENDS.get(state["stop_reason"], state["stop_reason"])
        print_line(console, f"{ended} · {_describe_usage(state['usage'])} · {seconds:.1f} s", "dim")


def _print_conclusion(console: Console, state: Mapping[str, Any], *, short: bool) -> None:
    indent, why = 9, sanitize_line(state["explanation"])
    if state["answer"] and state.get("markdown"):
        _print_markdown(console, state["answer"])
    elif state["answer"]:
        label, indent = (Text(), 0) if short else (Text("Answer", "bold"), indent)
        print_hanging(console, label, Text(sanitize_line(state["answer"]), "bold green"), indent=indent)
    else:
        print_line(console, "No answer", "bold red")
        if has_no_usable_reply(state["usage"]):
            print_line(console, f"{NO_USABLE_REPLY[:1].upper()}{NO_USABLE_REPLY[1:]}.", "yellow")
        missing = sanitize_line(state.get("missing") or "")
        if not why and missing and missing != sanitize_line(state["question"]):
            why = f"still missing: {missing}"
    if why and not short:
        print_hanging(console, Text(), Text(why), indent=indent)


def _print_markdown(console: Console, answer: str) -> None:
    """Print a long answer, rendered on a terminal, else as written."""
    shown = re.sub(r"[^ \n]+", lambda found: sanitize_line(found[0]), answer)  # a line keeps its indent
    if console.is_terminal:
        console.print(Markdown(shown, hyperlinks=False))
        return
    for line in shown.split("\n"):
        console.print(Text(line), soft_wrap=True)


def _describe_usage(usage: Usage) -> str:
    parts = [
        pluralize(usage["iterations"], "iteration"),
        pluralize(usage["llm_calls"], "model call"),
        f"{usage['prompt_tokens']:,} + {usage['completion_tokens']:,} tokens",
        pluralize(usage["retrievals"], "search", "searches"),
        f"{pluralize(usage['passages'], 'passage')} read",
    ]
    if usage["parse_failures"]:
        parts.append(pluralize(usage["parse_failures"], "unusable reply", "unusable replies"))
    return " · ".join(parts)
