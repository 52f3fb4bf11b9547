"""Show the model what was retrieved: the first of a ranking, all that retrievals add up to, or beside what it wrote."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, whole_excerpt
from hopgraph.nodes.core.method_graph import Node
from hopgraph.state import Context, Knowledge, MethodState
from hopgraph.state.baselines import IrcotContext, IrcotState
from hopgraph.state.schemas import FoundState


def take_top_with(count: Callable[[Any], int]) -> Node:
    """Return the node that turns each query's candidates into knowledge, whole and in their order.

    Args:
        count: From the settings to the number of passages that each query keeps at most.

    The node writes `knowledge`, one entry per query; no excerpts for a query that found nothing.
    """

    async def take_top(state: FoundState, runtime: Runtime[Context]) -> Mapping[str, Any]:
        passages, most = passages_by_id(state["passages"]), count(runtime.context)
        found = [(each["query"], candidate_excerpts([each], passages)) for each in state["candidates"]]
        return {"knowledge": [Knowledge(query=query, excerpts=excerpts[:most]) for query, excerpts in found]}

    return take_top


take_top = take_top_with(attrgetter("passages_per_query"))
"""Take as many passages as were asked for, in the retriever's order."""


async def collect(state: IrcotState, runtime: Runtime[IrcotContext]) -> Mapping[str, Any]:
    """Add what was newly found to what is there, whole, in rank order, up to `max_passages` in all (IRCoT).

    Adds to `knowledge` one entry per query; without excerpts where a query found nothing new.
    """
    passages = passages_by_id(state["passages"])
    knowledge = list(state["knowledge"])
    for each in state["candidates"]:
        known = {excerpt["passage_id"] for excerpt in excerpts_of_all_queries(knowledge)}
        scored = zip(each["passage_ids"], each["scores"], strict=True)
        new = [whole_excerpt(passages[key], score) for key, score in scored if key not in known]
        room = runtime.context.max_passages - len(known)
        knowledge.append(Knowledge(query=each["query"], excerpts=new[:room]))
    return {"knowledge": knowledge}


async def mix_passages(state: MethodState, _runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Show each query's retrieved passages in rank order, then its written one (GRG).

    Reads `candidates` and `knowledge`, which hold the same queries in the same order; writes `knowledge`.
    """
    passages = passages_by_id(state["passages"])
    return {
        "knowledge": [
            Knowledge(query=written["query"], excerpts=[*candidate_excerpts([found], passages), *written["excerpts"]])
            for found, written in zip(state["candidates"], state["knowledge"], strict=True)
        ]
    }
