"""Copies of a passage among the hits of a query: one is shown, and names the others."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from hopgraph.tools.retrieval.index import Hit

COPIES = "copies"
"""The key of a passage's metadata that has the ids of its copies."""
_ALIKE = 0.95
"""The share of their pairs of neighbouring words that copies have in common: one other word in the middle of a passage
is two pairs that neither shares, four of two hundred."""
_WORD, _NUMBER = re.compile(r"\w+"), re.compile(r"\d[\d.,]*")


def drop_copies(hits: Sequence[Hit], k: int) -> list[Hit]:
    """Return the first k hits without the copies of those before, which name them by their ids.

    A copy stands in another document, has the same numbers and nearly the same words. Passages without a source, as
    those of a data set, have none.
    """
    kept: list[Hit] = []
    copies: list[list[str]] = []
    for hit in hits:
        first = next((number for number, each in enumerate(kept) if _is_copy(hit, each)), None)
        if first is not None:
            copies[first].append(hit.passage.id)
        elif len(kept) < k:
            kept.append(hit)
            copies.append([])
    return [
        hit._replace(passage=hit.passage._replace(metadata={**hit.passage.metadata, COPIES: list(ids)})) if ids else hit
        for hit, ids in zip(kept, copies, strict=True)
    ]


def _is_copy(one: Hit, other: Hit) -> bool:
    sources = [hit.passage.metadata.get("source") for hit in (one, other)]
    if not all(sources) or sources[0] == sources[1]:
        return False
    (pairs, numbers), (other_pairs, other_numbers) = (_shape(hit.passage.text) for hit in (one, other))
    return numbers == other_numbers and len(pairs & other_pairs) >= _ALIKE * len(pairs | other_pairs)


@lru_cache(maxsize=4096)
def _shape(text: str) -> tuple[frozenset[tuple[str, str]], tuple[str, ...]]:
    """Return the pairs of neighbouring words of a text, and its numbers."""
    words = ["", *_WORD.findall(text.lower()), ""]
    return frozenset(pairwise(words)), tuple(_NUMBER.findall(text))
