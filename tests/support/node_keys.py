"""Records which state keys the nodes of a method read and write."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import wraps
from typing import Any

from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.graph_node import GraphNode


class ReadDict(dict[str, Any]):
    """A state that records which of its keys are read."""

    def __init__(self, state: dict[str, Any], read: set[str]) -> None:
        super().__init__(state)
        self._read = read

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._read.add(key)
        return super().get(key, default)


def nodes_in(builder: Any) -> Iterator[GraphNode]:
    """Return the nodes of a graph and its subgraphs."""
    for spec in builder.nodes.values():
        if isinstance(spec.runnable, CompiledMethod):
            yield from nodes_in(spec.runnable.builder)
        elif isinstance(spec.runnable, GraphNode):
            yield spec.runnable


def name_of(node: GraphNode) -> str:
    """Return a node's name from its module and function."""
    function: Any = node.function.function
    return f"{function.__module__.removeprefix('hopgraph.nodes.')}.{function.__name__}"


class NodeKeys:
    """Keys read and written by each node, over all runs of the watched graphs."""

    def __init__(self) -> None:
        self.reads, self.writes = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)

    def watch(self, builder: Any) -> Any:
        """Return a builder whose nodes are recorded."""
        for node in nodes_in(builder):
            node.function = replace(node.function, function=self._recorded(name_of(node), node.function.function))
        return builder

    def _recorded(self, name: str, function: Any) -> Any:
        @wraps(function)
        async def step(state: dict[str, Any], **given: Any) -> Any:
            update = await function(ReadDict(state, self.reads[name]), **given)
            self.writes[name] |= (update or {}).keys()
            return update

        return step
