"""Sort retrieved passages with the reranker."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.take_top import take_top_with
from hopgraph.state import Candidates, Passage
from hopgraph.state.baselines import RerankedContext
from hopgraph.state.events import Reranked
from hopgraph.tools.resources import get_reranker


class RerankState(TypedDict):
    """What `rerank` reads."""

    candidates: list[Candidates]
    passages: list[Passage]


async def rerank(state: RerankState, runtime: Runtime[RerankedContext]) -> Mapping[str, Any]:
    """Sort each query's candidates by the reranker's score of the whole, titled passage (MIGRES, section 4.2).

    Rewrites `candidates`: best first, ties in retrieval order, with the reranker's scores; those below
    `threshold`, if there is one, are dropped. All pairs of all queries are scored in one batch.
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
        emit(
            runtime,
            Reranked(
                query=each["query"],
                threshold=settings.threshold,
                passages_in=len(each["passage_ids"]),
                passage_ids=list(ids),
                scores=list(ranked),
            ),
        )
    return {"candidates": candidates, "calls": calls}


def _k(settings: RerankedContext) -> int:
    return settings.passages_per_extraction


take_best = take_top_with(_k)
"""Take the k best passages of the ranking."""
