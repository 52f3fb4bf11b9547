"""A shared node does not know which method called it."""

import ast
from collections.abc import Iterator

from hopgraph.graphs import METHODS
from support.paths import ROOT

NODES = [path for path in (ROOT / "nodes").rglob("*.py") if path.parent.name != "chat"]
"""Those of the chat are not among them: it hands questions to whole methods."""
ROLES_AND_RECORDS = {"hosted_graph.py", "ask.py", "prepare.py", "method_graph.py"}
"""They make roles and names of the method's name, and check those that the settings name."""


ALSO_OTHER_NAMES = {"direct", "snippet", "gold_passages", "rerank"}
"""Methods whose names are also those of an expansion, a step, a key of the input and a setting."""


def told_apart(tree: ast.AST) -> Iterator[str]:
    """List the texts that a condition compares something with, or chooses among."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Compare | ast.MatchValue | ast.Subscript | ast.Dict):
            for part in ast.walk(each):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_no_node_asks_for_the_methods_name() -> None:
    for path in NODES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert (METHODS.keys() - ALSO_OTHER_NAMES).isdisjoint(told_apart(tree)), path
        if path.name not in ROLES_AND_RECORDS:
            assert "method" not in {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}, path
