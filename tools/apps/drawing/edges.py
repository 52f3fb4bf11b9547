"""The names and edges of a graph, and which edges close a loop."""

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
    """Taken only if a router chooses it."""
    back: bool
    """Closes a loop: leads to a node that comes before its source. An edge from a node to itself is one."""


def node_name(graph: Graph, key: str) -> str:
    """Return a node's name; start and end lose their underscores."""
    return _ENDS.get(key, graph.nodes[key].name)


def is_end(key: str) -> bool:
    """Whether a node is the start or the end."""
    return key in _ENDS


def edges_of(graph: Graph) -> list[DrawnEdge]:
    """Return a graph's edges in its order.

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
    """Return every node that can be reached, with the first one."""
    found, left = {start}, [start]
    while left:
        new = [target for target in leaving[left.pop()] if target not in found]
        found.update(new)
        left += new
    return frozenset(found)
