"""Collect passages over several retrievals."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.excerpts import passages_by_id, whole_excerpt
from hopgraph.state import Candidates, Knowledge, Passage
from hopgraph.state.baselines import IrcotContext


class CollectState(TypedDict):
    """What `collect` reads."""

    candidates: list[Candidates]
    knowledge: list[Knowledge]
    passages: list[Passage]


async def collect(state: CollectState, runtime: Runtime[IrcotContext]) -> Mapping[str, Any]:
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
