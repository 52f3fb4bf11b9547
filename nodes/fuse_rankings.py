"""Fuse what several queries of one hop found into one ranking."""

from collections import defaultdict

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.excerpts import passages_by_id, whole_excerpt
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Knowledge, Passage, Update
from hopgraph.state.baselines import DspContext, DspState
from hopgraph.state.events import United


async def fuse_rankings(state: DspState, runtime: Runtime[DspContext]) -> Update:
    """Keep the `passages_per_query` passages with the largest sums of scores (DSP's fused retrieval), whole.

    A query counts as often as it was sampled. Adds an entry to `knowledge`; `passages` are those that any hop has kept.
    """
    passages, sums = passages_by_id(state["passages"]), defaultdict[str, float](float)
    for each in state["candidates"]:
        for key, score in zip(each["passage_ids"], each["scores"], strict=True):
            sums[key] += score * state["sampled"].get(each["query"], 1)
    best = sorted(sums, key=lambda key: (-sums[key], key))[: runtime.context.passages_per_query]
    earlier = [excerpt["passage_id"] for excerpt in excerpts_of_all_queries(state["knowledge"])]
    fused = [Passage({**passages[key], "score": sums[key]}) for key in best if key not in earlier]
    excerpts = [whole_excerpt(passages[key], sums[key]) for key in best]
    emit(runtime, United(passage_ids=best))
    return {
        "knowledge": [*state["knowledge"], Knowledge(query=state["candidates"][0]["query"], excerpts=excerpts)],
        "passages": Overwrite([*(passages[key] for key in earlier), *fused]),
    }
