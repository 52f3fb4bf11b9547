"""Showing a run on the terminal: its header, its steps, and what it is busy with."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

from hopgraph.state import Context
from hopgraph.state.context import DEFAULT_MODEL, DEFAULT_RETRIEVER
from hopgraph.tools.cli.console import LABEL_WIDTH, on_one_line, print_hanging
from hopgraph.tools.cli.tell import Line
from hopgraph.tools.models import model_name, redact
from hopgraph.tools.resolve import describe

_STYLES = {"heading": "bold", "plain": "", "dim": "dim", "good": "green", "bad": "red", "warning": "bold yellow"}
_EMPTY = Text()


def print_header(console: Console, title: str, settings: Context) -> None:
    """Say which method, model and corpus are used, and what the embedded model is."""
    model, corpus = (on_one_line(redact(name)) for name in describe(settings))
    more = [f"{on_one_line(role)}: {on_one_line(model_name(given))}" for role, given in settings.models.items()]
    second = settings.second_retriever
    name = second if isinstance(second, str) else type(second).__name__
    corpora = [corpus, *([on_one_line(redact(name))] if second else [])]
    about = " (bundled sample)" if corpora == [DEFAULT_RETRIEVER] else ""
    line = f"{title} · model {', '.join([model, *more])} · corpus {' + '.join(corpora)}{about}"
    print_hanging(console, _EMPTY, Text(line, "bold"), indent=0)
    if model == DEFAULT_MODEL:
        note = f"{model} is the embedded stand-in: no language model, only fixed rules that extract text."
        print_hanging(console, _EMPTY, Text(note, "dim"), indent=0)


class Shown:
    """The account of a run on a console; on None it shows nothing."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._status: Status | None = None

    def __enter__(self) -> Self:
        if self._console and self._console.is_terminal:
            self._status = self._console.status(Text("starting", "dim"))
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def step(self, node: str) -> None:
        """Say which node is at work, where that can be wiped out again."""
        if self._status:
            self._status.update(Text(on_one_line(node).replace("_", " "), "dim"))

    def lines(self, lines: list[Line]) -> None:
        """Print lines."""
        if self._console:
            for line in lines:
                _print_line(self._console, line)


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
