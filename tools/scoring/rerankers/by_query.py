"""Pairs for rerankers that take one query with many texts at a time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from hopgraph.tools.scoring.pair_scorers import Pair

QueryGroup = tuple[str, list[str]]
"""A query and some of its texts."""


def group_by_query(pairs: Sequence[Pair], size: int) -> list[QueryGroup]:
    """Group the distinct texts of each query, at most `size` to a group, in the order of the pairs."""
    texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for query, text in pairs:
        texts[query][text] = None
    return [
        (query, list(each)[first : first + size])
        for query, each in texts.items()
        for first in range(0, len(each), size)
    ]


def scores_of_pairs(
    pairs: Sequence[Pair], groups: Sequence[QueryGroup], scores: Iterable[Sequence[float]]
) -> list[float]:
    """Return each pair's score; `scores` has a list for each group, with one score for each of its texts."""
    known = {
        (query, text): score
        for (query, texts), values in zip(groups, scores, strict=True)
        for text, score in zip(texts, values, strict=True)
    }
    return [known[pair] for pair in pairs]
