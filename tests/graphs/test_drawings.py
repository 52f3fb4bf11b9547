"""The drawings of the graphs in docs/drawings.md are current; `make drawings` writes them."""

import os
from collections.abc import Iterator
from typing import Any

from hopgraph.graphs import ALIASES, METHODS, chat
from support.paths import ROOT

REWRITE = "HOPGRAPH_REWRITE_DRAWINGS"
"""The variable that `make drawings` sets, to store the drawings of the graphs as they are."""


def mermaid(graph: Any, *, subgraphs: bool = True) -> str:
    """Draw a graph without what some versions of LangGraph note at its nodes."""
    drawn = graph.get_graph(xray=subgraphs)
    drawn.nodes = {key: node._replace(metadata=None) for key, node in drawn.nodes.items()}
    return f"```mermaid\n{drawn.draw_mermaid().strip()}\n```\n"


def page() -> Iterator[str]:
    yield "# Drawings\n\nEach method's graph as LangGraph draws it. `make drawings` writes this page.\n"
    for method in (METHODS[name] for name in METHODS if name not in ALIASES):
        first_line = method.docstring.partition("\n")[0]
        yield f"## {method.graph.get_name()}\n\n{first_line}\n\n{mermaid(method.graph)}"
    about = "A conversation. Inside `look_up` each method is a node, drawn above."
    yield f"## {chat.graph.get_name()}\n\n{about}\n\n{mermaid(chat.graph, subgraphs=False)}"
    yield "Next: [Which method?](which_method.md), [Nodes](nodes.md), [Replay and fork](replay_and_fork.md).\n"


def test_the_drawings_are_those_of_the_graphs() -> None:
    path, current = ROOT / "docs" / "drawings.md", "\n".join(page())
    if os.environ.get(REWRITE):
        path.write_text(current, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == current, "run: make drawings"
