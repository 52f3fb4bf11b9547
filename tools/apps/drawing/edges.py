"""What a drawing needs to know about a graph: names, and edges that lead forward or back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.runnables.graph import Graph

_ENDS = {"__start__": "start", "__end__": "end"}


@dataclass(frozen=True)
class DrawnEdge:
    """An edge of a graph."""

    source: str
    target: str
    label: str
    """May be empty."""
    conditional: bool
    """Taken only if a router says so."""
    back: bool
    """Closes a loop: leads to a node that comes before its source. An edge from a node to itself is one."""


def shown_name(graph: Graph, key: str) -> str:
    """Name a node as a drawing shows it; the beginning and the end lose their underscores."""
    return _ENDS.get(key, graph.nodes[key].name)


def is_end(key: str) -> bool:
    """Tell whether a node is the beginning or the end, which do nothing."""
    return key in _ENDS


def edges_of(graph: Graph) -> list[DrawnEdge]:
    """List a graph's edges in its order; empty for a graph without any.

    Nodes are declared in the order in which people read them, so of the edges of a loop those that lead to a
    node declared before their source, or to the source itself, count as closing it.
    """
    number = {key: index for index, key in enumerate(graph.nodes)}
    leaving = {key: [edge.target for edge in graph.edges if edge.source == key] for key in graph.nodes}
    reached = {key: _reached(key, leaving) for key in graph.nodes}
    return [
        DrawnEdge(
            edge.source,
            edge.target,
            "" if edge.data is None else str(edge.data),
            edge.conditional,
            back=number[edge.target] <= number[edge.source] and edge.source in reached[edge.target],
        )
        for edge in graph.edges
    ]


def _reached(start: str, leaving: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Find every node that a way leads to, the first one among them."""
    found, left = {start}, [start]
    while left:
        new = [target for target in leaving[left.pop()] if target not in found]
        found.update(new)
        left += new
    return frozenset(found)
