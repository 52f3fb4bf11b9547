"""Merging the rankings of several retrievers for one query."""

from collections.abc import Sequence

from hopgraph.tools.retrieval.index import Hit

RRF_K = 60
"""The constant of Cormack et al. 2009: the higher, the less the first ranks count."""
DEPTH = 100
"""Hits of each ranking that are fused at least."""


def fuse_rankings(rankings: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Merge rankings by reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).

    Args:
        rankings: of the same corpus, each best first.
        k: how many hits to return at most.

    Returns:
        Best first, equal scores by id. Each passage scores the sum of 1 / (60 + its rank), from 1, over the
        rankings that have it.
    """
    passages = {hit.passage.id: hit.passage for ranking in rankings for hit in ranking}
    scores = dict.fromkeys(passages, 0.0)
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.passage.id] += 1 / (RRF_K + rank)
    order = sorted(scores, key=lambda key: (-scores[key], key))[: max(k, 0)]
    return [Hit(passages[key], scores[key]) for key in order]
