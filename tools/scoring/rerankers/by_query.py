"""Pairs for what takes one query with many texts at a time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

Pair = tuple[str, str]
"""A query and a text."""
Part = tuple[str, list[str]]
"""A query and some of its texts."""


def parts_of(pairs: Sequence[Pair], most: int) -> list[Part]:
    """Gather the texts of each query, each once, in parts of at most `most`; in the order of the pairs."""
    texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for query, text in pairs:
        texts[query][text] = None
    return [
        (query, list(each)[first : first + most])
        for query, each in texts.items()
        for first in range(0, len(each), most)
    ]


def in_order(pairs: Sequence[Pair], parts: Sequence[Part], scores: Iterable[Sequence[float]]) -> list[float]:
    """Give each pair its score; `scores` has a list for each part, with one score for each of its texts."""
    known = {
        (query, text): score
        for (query, texts), values in zip(parts, scores, strict=True)
        for text, score in zip(texts, values, strict=True)
    }
    return [known[pair] for pair in pairs]
