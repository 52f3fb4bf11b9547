"""Merging the rankings of several searches for one query."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_retriever import SearchableIndex

RRF_K = 60
"""The constant of Cormack et al. 2009: the higher, the less the first ranks count."""
DEPTH = 100
"""Hits of each ranking that are fused at least."""


@dataclass(frozen=True)
class FusedIndex:
    """Several indexes of one corpus, searched concurrently and merged by reciprocal rank fusion."""

    source: str
    indexes: tuple[SearchableIndex, ...]

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Find the best of the fused ranking."""
        found = await asyncio.gather(*(each.asearch(query, max(k, DEPTH)) for each in self.indexes))
        return fuse_rankings(found, k)


def fuse_rankings(rankings: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Merge rankings of one corpus, each best first, by reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).

    Returns:
        At most k hits, best first, equal scores by id. Each passage scores the sum of 1 / (60 + its rank), from 1,
        over the rankings that have it.
    """
    passages = {hit.passage.id: hit.passage for ranking in rankings for hit in ranking}
    scores = dict.fromkeys(passages, 0.0)
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.passage.id] += 1 / (RRF_K + rank)
    order = sorted(scores, key=lambda key: (-scores[key], key))[: max(k, 0)]
    return [Hit(passages[key], scores[key]) for key in order]
