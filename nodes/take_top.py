"""Keep the first passages of a ranking as they are."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id
from hopgraph.nodes.core.method_graph import Node
from hopgraph.state import Context, Knowledge, Update
from hopgraph.state.schemas import FoundState


def take_top_with(count: Callable[[Any], int]) -> Node:
    """Return the node that keeps each query's first candidates, whole: as many as `count` gets from the settings."""

    async def take_top(state: FoundState, runtime: Runtime[Context]) -> Update:
        passages, most = passages_by_id(state["passages"]), count(runtime.context)
        found = [(each["query"], candidate_excerpts([each], passages)) for each in state["candidates"]]
        return {"knowledge": [Knowledge(query=query, excerpts=excerpts[:most]) for query, excerpts in found]}

    return take_top


take_top = take_top_with(attrgetter("passages_per_query"))
"""Take as many passages as were asked for, in the retriever's order."""
