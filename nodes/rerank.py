"""Sort retrieved passages with the reranker."""

from operator import attrgetter

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.take_top import take_top_with
from hopgraph.state import Candidates, Update
from hopgraph.state.baselines import RerankedContext
from hopgraph.state.events import Reranked
from hopgraph.state.schemas import FoundState
from hopgraph.tools.resources import get_reranker


async def rerank(state: FoundState, runtime: Runtime[RerankedContext]) -> Update:
    """Sort each query's candidates by the reranker's score of the whole, titled passage (MIGRES, section 4.2).

    Ties stay in retrieval order; those below `threshold` are dropped. Writes `candidates`.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    reranker = await get_reranker(settings)
    pairs = [(each["query"], with_title(passages[key])) for each in state["candidates"] for key in each["passage_ids"]]
    found, calls = await score_pairs(runtime, reranker, pairs)
    scores = iter(found)
    lowest = float("-inf") if settings.threshold is None else settings.threshold
    candidates: list[Candidates] = []
    for each in state["candidates"]:
        scored = [(key, score) for key in each["passage_ids"] if (score := next(scores)) >= lowest]
        scored.sort(key=lambda pair: -pair[1])
        ids, ranked = [key for key, _ in scored], [score for _, score in scored]
        candidates.append(Candidates(query=each["query"], passage_ids=ids, scores=ranked))
        ranking = Reranked(
            query=each["query"],
            threshold=settings.threshold,
            passages_in=len(each["passage_ids"]),
            passage_ids=list(ids),
            scores=list(ranked),
        )
        emit(runtime, ranking)
    return {"candidates": candidates, "calls": calls}


take_best = take_top_with(attrgetter("passages_per_extraction"))
"""Take the k best passages of the ranking."""
