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
    """List a graph's edges in its order; empty for a graph without any."""
    labels = [(edge, "" if edge.data is None else str(edge.data)) for edge in graph.edges]
    back = _back_edges(list(graph.nodes), [(edge.source, edge.target) for edge in graph.edges])
    return [
        DrawnEdge(edge.source, edge.target, label, edge.conditional, (edge.source, edge.target) in back)
        for edge, label in labels
    ]


def _back_edges(nodes: Sequence[str], pairs: Sequence[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Find the edges that lead to a node on the way by which their source was reached first.

    Without them the graph has no loop. The search goes depth first from the nodes that nothing leads to, in
    the graph's order, then from what is left.
    """
    leaving = {node: [target for source, target in pairs if source == node] for node in nodes}
    entered = {target for _, target in pairs}
    found: set[tuple[str, str]] = set()
    done: set[str] = set()
    for root in sorted(nodes, key=lambda node: node in entered):
        _search(root, leaving, done, found)
    return frozenset(found)


def _search(
    root: str, leaving: Mapping[str, Sequence[str]], done: set[str], found: set[tuple[str, str]]
) -> None:
    if root in done:
        return
    way, left = [root], [iter(leaving[root])]
    while way:
        target = next(left[-1], None)
        if target is None:
            done.add(way.pop())
            left.pop()
        elif target in way:
            found.add((way[-1], target))
        elif target not in done:
            way.append(target)
            left.append(iter(leaving[target]))
