"""Mix retrieved passages with those that the model wrote."""

from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id
from hopgraph.state import Knowledge, MethodState, Update


async def mix_passages(state: MethodState) -> Update:
    """Show each query's retrieved passages in rank order, then its written one (GRG); rewrites `knowledge`."""
    passages = passages_by_id(state["passages"])
    return {
        "knowledge": [
            Knowledge(query=written["query"], excerpts=[*candidate_excerpts([found], passages), *written["excerpts"]])
            for found, written in zip(state["candidates"], state["knowledge"], strict=True)
        ]
    }
