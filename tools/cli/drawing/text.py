"""A graph as plain text: every node with the edges that leave it."""

from hopgraph.tools.cli.drawing.edges import edges_of, shown_name
from langchain_core.runnables.graph import Graph


def ascii_drawing(graph: Graph, title: str) -> str:
    """Write a graph's nodes, top to bottom, each with its edges and their labels.

    An edge that leads back up says so. Plain ASCII; a label's other characters stay.
    """
    lines = [title, ""]
    edges = edges_of(graph)
    width = max((len(edge.label) for edge in edges), default=0)
    for key in graph.nodes:
        lines.append(f"[{shown_name(graph, key)}]")
        leaving = [edge for edge in edges if edge.source == key]
        for number, edge in enumerate(leaving, start=1):
            corner = "`" if number == len(leaving) else "|"
            label = f" {edge.label} ".ljust(width + 2, "-") if edge.label else "-" * (width + 2 if _any_label(leaving) else 0)
            back = "  (back up)" if edge.back else ""
            lines.append(f"  {corner}--{label}--> {shown_name(graph, edge.target)}{back}")
        lines.append("")
    return "\n".join(lines)
