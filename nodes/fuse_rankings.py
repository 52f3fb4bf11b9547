"""Fuse what several queries of one hop found into one ranking."""

from collections import defaultdict

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.core.excerpts import passages_by_id, whole_excerpt
from hopgraph.nodes.core.reply_text import knowledge_passage
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Knowledge, Passage, Update
from hopgraph.state.baselines import DspContext, DspState
from hopgraph.state.events import United


def reason_of_search(hop: int, why: str) -> list[Passage]:
    """Return the reason for a hop's search as a passage that stands before what it found; none for the first hop."""
    return [knowledge_passage(str(hop), why, title="Reason for the search", hop=hop)] if why and hop > 1 else []


async def fuse_rankings(state: DspState, runtime: Runtime[DspContext]) -> Update:
    """Keep the `passages_per_query` passages with the largest sums of scores (DSP's fused retrieval), whole.

    A query counts as often as it was sampled, the question once. In `knowledge` they replace those of the hops before,
    after the reason for the first query, or follow them (`context`); `passages` are those that any hop has kept.
    """
    passages, sums = passages_by_id(state["passages"]), defaultdict[str, float](float)
    for each in state["candidates"]:
        for key, score in zip(each["passage_ids"], each["scores"], strict=True):
            sums[key] += score * state["sampled"].get(each["query"], 1)
    best = sorted(sums, key=lambda key: (-sums[key], key))[: runtime.context.passages_per_query]
    hop, why = state["iteration"], state["queries"][0]["why"]
    kept = [each for each in state["passages"] if each["hop"] < hop]
    earlier = {each["id"] for each in kept}
    fused = [Passage({**passages[key], "score": sums[key]}) for key in best if key not in earlier]
    replaces = runtime.context.context == "last_hop"
    reason = reason_of_search(hop, why) if replaces else []
    excerpts = [whole_excerpt(each, 0.0) for each in reason] + [whole_excerpt(passages[key], sums[key]) for key in best]
    found = Knowledge(query=state["candidates"][0]["query"], excerpts=excerpts)
    emit(runtime, United(passage_ids=best))
    return {
        "knowledge": [found] if replaces else [*state["knowledge"], found],
        "passages": Overwrite([*kept, *reason, *fused]),
    }
