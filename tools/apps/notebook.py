"""Displays for notebooks: a method's graph, what each node wrote, the answer, the run's tree. All texts are escaped."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, cast

from hopgraph.graphs import find_method
from hopgraph.state import Context
from hopgraph.state.events import event_order
from hopgraph.tools.apps.runs.run_svg import draw_run_svg
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.retrieval.passage_metadata import name_citation
from hopgraph.tools.text.sanitize import truncate_line

_MAX_CHARACTERS = 160  # of a field in a table
_HIDDEN_FIELDS = frozenset({"calls", "usage", "started_at", "question"})
"""Bookkeeping, and the question, which never changes."""


@dataclass(frozen=True)
class Picture:
    """An SVG picture."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Diagram:
    """A graph in Mermaid syntax, which JupyterLab draws."""

    mermaid: str = field(repr=False)

    def _repr_markdown_(self) -> str:
        return f"```mermaid\n{self.mermaid}```"


@dataclass(frozen=True)
class Card:
    """HTML with escaped texts."""

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True)
class Walk:
    """A finished run: its question, step events and final state, and (node, what it wrote) in order.

    Parallel branches follow one another in the order in which the graph started them.
    """

    title: str
    question: str
    events: list[Any]
    result: Mapping[str, Any]
    writes: list[tuple[str, Mapping[str, Any]]]

    def steps(self) -> Card:
        """Return a table with a row for each field that a node wrote."""
        rows = "".join(
            f"<tr><td><b>{escape(node)}</b></td><td>{escape(name)}</td>"
            f'<td style="text-align:left">{escape(truncate_line(str(cast("Any", value)), _MAX_CHARACTERS))}</td></tr>'
            for node, written in self.writes
            for name, value in written.items()
            # Other types are LangGraph's `Overwrite`, which `prepare` writes.
            if name not in _HIDDEN_FIELDS and value and isinstance(value, str | int | float | list | dict)
        )
        return Card(f"<table><tr><th>node</th><th>writes</th><th>value</th></tr>{rows}</table>")

    def answer(self) -> Card:
        """Return the answer, or that there is none, with the quoted sentences."""
        quotes = "".join(
            f"<li>{escape(name_citation(each))}: “{escape(each['quote'])}”</li>" for each in self.result["citations"]
        )
        return Card(f"<p><b>{escape(self.result['answer'] or 'No answer found')}</b></p><ol>{quotes}</ol>")

    def tree(self) -> Picture:
        """Return a picture of the run."""
        return Picture(draw_run_svg(build_tree(self.question, self.events), self.title))


def draw(method: Any) -> Diagram:
    """Draw a method's graph, by name, or a compiled graph; a SettingsError for an unknown name."""
    return Diagram(_graph_of(method).get_graph().draw_mermaid())


def walk(method: Any, question: str, settings: Context | None = None) -> Walk:
    """Run a method, by name, or a compiled graph; return what each node wrote, including those of subgraphs."""
    graph = _graph_of(method)
    events: list[Any] = []
    started: dict[str, list[Mapping[str, Any]]] = {}
    written: dict[str, Mapping[str, Any]] = {}
    result: Mapping[str, Any] = {}
    modes = ["tasks", "custom", "values"]
    for path, mode, part in graph.stream({"question": question}, context=settings, stream_mode=modes, subgraphs=True):
        if mode == "custom":
            events.append(part)
        elif mode == "tasks" and "result" in part:
            written[part["id"]] = part["result"]
        elif mode == "tasks":
            owner = path[-1].split(":")[1] if path else ""  # a path's last part is `node:task id`
            started.setdefault(owner, []).append(part)
        elif not path:
            result = part
    writes = list(_writes(started, written))
    return Walk(str(graph.get_name()), question, sorted(events, key=event_order), result, writes)


def _writes(
    started: Mapping[str, list[Mapping[str, Any]]], written: Mapping[str, Mapping[str, Any]], owner: str = ""
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each node with what it wrote, replacing subgraphs, which repeat what their nodes wrote, by their nodes.

    `started` has the tasks started by each subgraph's task, or, under "", by the top graph: only within one graph is
    the order fixed. `written` has what each task wrote, by task id.
    """
    for task in started[owner]:
        if task["id"] in started:
            yield from _writes(started, written, task["id"])
        elif task["id"] in written:
            yield task["name"], written[task["id"]]


def _graph_of(method: Any) -> Any:
    return find_method(method).graph if isinstance(method, str) else method
