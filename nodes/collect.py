"""Collect passages over several retrievals."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import passages_by_id, whole_excerpt
from hopgraph.nodes.reading import excerpts_of_all_queries
from hopgraph.state import Knowledge, Update
from hopgraph.state.baselines import IrcotContext, IrcotState


async def collect(state: IrcotState, runtime: Runtime[IrcotContext]) -> Update:
    """Add to `knowledge` what each query newly found, whole, in rank order, up to `max_passages` in all (IRCoT)."""
    passages = passages_by_id(state["passages"])
    knowledge = list(state["knowledge"])
    for each in state["candidates"]:
        known = {excerpt["passage_id"] for excerpt in excerpts_of_all_queries(knowledge)}
        scored = zip(each["passage_ids"], each["scores"], strict=True)
        new = [whole_excerpt(passages[key], score) for key, score in scored if key not in known]
        room = runtime.context.max_passages - len(known)
        knowledge.append(Knowledge(query=each["query"], excerpts=new[:room]))
    return {"knowledge": knowledge}
