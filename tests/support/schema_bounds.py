"""Unbounded parts of a JSON schema."""

from collections.abc import Iterator
from typing import Any

BOUNDS = {"array": {"maxItems"}, "string": {"maxLength", "pattern", "enum", "const"}}


def unbounded(node: Any, path: str = "") -> Iterator[str]:
    """Return the paths of strings and lists without bounds."""
    if isinstance(node, list):
        node = dict(enumerate(node))
    if not isinstance(node, dict):
        return
    bounds = BOUNDS.get(str(node.get("type")))
    if bounds and bounds.isdisjoint(node):
        yield path
    for name, each in node.items():
        yield from unbounded(each, f"{path}.{name}")
