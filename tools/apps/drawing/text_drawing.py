"""A graph as plain text: every node with the edges that leave it."""

from langchain_core.runnables.graph import Graph

from hopgraph.tools.apps.drawing.edges import edges_of, is_end, node_name


def draw_text(graph: Graph, title: str) -> str:
    """Write a graph's nodes in its order, each with its edges and their labels.

    A node's only edge to the node below is an arrow down; every other edge names where it leads, and an
    edge that closes a loop says so. All signs are ASCII; names and labels stay as they are.
    """
    edges, keys = edges_of(graph), list(graph.nodes)
    lines = [title, "=" * len(title), ""]
    for key, below in zip(keys, [*keys[1:], None], strict=True):
        name = node_name(graph, key)
        lines.append(f"({name})" if is_end(key) else f"[{name}]")
        leaving = [edge for edge in edges if edge.source == key]
        if len(leaving) == 1 and leaving[0].target == below and not leaving[0].label:
            lines += ["  |", "  v"]
            continue
        width = max((len(edge.label) for edge in leaving), default=0) + 4
        for edge in leaving:
            label, loop = f" {edge.label} " if edge.label else "", "  (loop)" if edge.back else ""
            lines.append(f"  +--{label.ljust(width, '-')}--> {node_name(graph, edge.target)}{loop}")
        lines.append("")
    return "\n".join(lines)
