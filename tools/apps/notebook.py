"""Displays for notebooks: a method's drawing, what each node wrote, the answer and the run's tree.

Every text of a run is escaped: a passage cannot put markup into the page.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from hopgraph.state import Context
from hopgraph.state.events import event_order
from hopgraph.tools.apps.cli.settings_options import method_named
from hopgraph.tools.apps.drawing import draw_svg
from hopgraph.tools.apps.runs.run_svg import draw_run_svg
from hopgraph.tools.apps.runs.tree_builder import build_tree

_MOST = 160
"""Characters of a field that a table shows."""
_NOT_SHOWN = frozenset({"calls", "usage", "started_at", "question"})
"""Bookkeeping, and the question, which never changes."""


@dataclass(frozen=True)
class Picture:
    """An SVG picture."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Card:
    """A piece of HTML with escaped texts."""

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True)
class Walk:
    """A finished run: its question, its step events, its end state and (node, what it wrote) in order.

    Parallel branches come one after the other, in the order in which the graph started them, so that the same run is
    shown the same way every time.
    """

    title: str
    question: str
    events: list[Any]
    result: Mapping[str, Any]
    writes: list[tuple[str, Mapping[str, Any]]]

    def steps(self) -> Card:
        """A table with one row for each field that a node wrote."""
        rows = "".join(
            f"<tr><td><b>{escape(node)}</b></td><td>{escape(name)}</td>"
            f'<td style="text-align:left">{escape(_short(value))}</td></tr>'
            for node, written in self.writes
            for name, value in _shown(written)
        )
        return Card(f"<table><tr><th>node</th><th>writes</th><th>value</th></tr>{rows}</table>")

    def answer(self) -> Card:
        """The answer, or that there is none, with the quoted sentences."""
        quotes = "".join(
            f"<li>{escape(each['title'])}: “{escape(each['quote'])}”</li>" for each in self.result["citations"]
        )
        return Card(f"<p><b>{escape(self.result['answer'] or 'No answer found')}</b></p><ol>{quotes}</ol>")

    def tree(self) -> Picture:
        """What the run did, as a picture."""
        return Picture(draw_run_svg(build_tree(self.question, self.events), self.title))


def draw(method: Any) -> Picture:
    """Draw a graph: a method's, by its name, or a compiled graph. Raises SettingsError for an unknown name."""
    graph = _graph_of(method)
    return Picture(draw_svg(graph.get_graph(), str(graph.get_name())))


def walk(method: Any, question: str, settings: Context | None = None) -> Walk:
    """Run a method, by its name, or a compiled graph; return what each node wrote, also those of subgraphs.

    Raises:
        HopgraphError: an unknown name, or as the run raises it.
    """
    graph = _graph_of(method)
    events: list[Any] = []
    tasks = _Tasks({}, {}, {})
    result: Mapping[str, Any] = {}
    modes = ["tasks", "custom", "values"]
    for path, mode, part in graph.stream({"question": question}, context=settings, stream_mode=modes, subgraphs=True):
        if mode == "custom":
            events.append(part)
        elif mode == "tasks":
            tasks.add(path, part)
        elif not path:
            result = part
    return Walk(str(graph.get_name()), question, sorted(events, key=event_order), result, list(tasks.writes()))


@dataclass(frozen=True)
class _Tasks:
    """The tasks of a stream, by graph: only those of one graph start in a fixed order."""

    started: dict[str, list[str]]
    """The ids of the tasks that a subgraph's task started, in order; under "" those of the whole graph."""
    names: dict[str, str]
    written: dict[str, Mapping[str, Any]]

    def add(self, path: tuple[str, ...], part: Mapping[str, Any]) -> None:
        """Store a start or a result; the path's last part is `node:task id`."""
        if "result" in part:
            self.written[part["id"]] = part["result"]
            return
        self.names[part["id"]] = part["name"]
        self.started.setdefault(path[-1].split(":")[1] if path else "", []).append(part["id"])

    def writes(self, owner: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each node with what it wrote; in place of a subgraph, which repeats what its nodes wrote, its nodes."""
        for each in self.started[owner]:
            if each in self.started:
                yield from self.writes(each)
            elif each in self.written:
                yield self.names[each], self.written[each]


def _graph_of(method: Any) -> Any:
    return method_named(method).graph if isinstance(method, str) else method


def _shown(written: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in written.items() if name not in _NOT_SHOWN and value and _plain(value))


def _plain(value: Any) -> bool:
    """Whether this is a value to show; `prepare` also writes LangGraph's orders to overwrite a field."""
    return isinstance(value, str | int | float | list | dict)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
