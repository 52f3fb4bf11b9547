"""`hopgraph draw METHOD`: a method's graph as a Mermaid diagram."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import METHODS

Run = Callable[..., Any]


@pytest.mark.parametrize("method", METHODS)
def test_a_drawing_shows_every_node_and_label(method: str, run: Run) -> None:
    graph = METHODS[method].graph.get_graph()
    ran = run("draw", method)
    assert (ran.code, ran.err) == (0, "")
    labels = {str(edge.data) for edge in graph.edges if edge.data is not None}
    for name in {key for key in graph.nodes if not key.startswith("__")} | labels:
        assert name in ran.out


def test_a_drawing_goes_to_a_file(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new" / "migres.mmd"
    assert run("draw", "migres", "--out", str(out)).out == ""
    assert out.read_text(encoding="utf-8") == run("draw", "migres", "--format", "mermaid").out
    assert list(tmp_path.rglob("*")) == [out.parent, out]
