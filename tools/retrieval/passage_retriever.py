"""Indexes as LangChain retrievers, one by one or several fused, which name copies of a passage and show one."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

import numpy as np
from langchain_core.documents import Document
from numpy.typing import NDArray
from pydantic import SkipValidation

from hopgraph.tools.io.background import in_search_thread
from hopgraph.tools.retrieval.async_retriever import AsyncRetriever
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_metadata import HREFS, INDEX, LINKED_FROM
from hopgraph.tools.retrieval.passage_store import StoredPassage

BM25_WEIGHT = 0.4
"""BM25's share of a fused score, the vectors have the rest; docs/models.md says how it was chosen."""
COPIES = "copies"
"""The key of a passage's metadata that has the ids of its copies."""
_ALIKE = 0.95
"""The share of their pairs of neighbouring words that copies have in common: one other word in the middle of a passage
is two pairs that neither shares, four of two hundred."""
_WORD, _NUMBER = re.compile(r"\w+"), re.compile(r"\d[\d.,]*")
_DEPTH_OF_COPIES = 4
"""How many times as many hits as are wanted are looked through where there are copies among them."""
DEPTH = 100
"""Hits of each ranking that are fused at least."""


class SearchableIndex(Protocol):
    """Passages that a coroutine searches."""

    @property
    def source(self) -> str | None:
        """Return its name in the passages' metadata, e.g. `faiss:DIR`; None if each passage's id is its source."""
        ...

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Find at most k passages, best first, equal scores by id; none for a blank query."""
        ...


@dataclass(frozen=True)
class VectorIndex:
    """Passages that are found by their vectors. Any number of threads may search them at once."""

    source: str
    encode: Callable[[str], Awaitable[NDArray[np.float32]]]
    """Makes a query's vector, or one for each of its tokens, by the model that the passages' were made with."""
    nearest: Callable[[str, NDArray[np.float32], int], list[Hit]]
    """Finds at most so many passages for a query and what `encode` made of it, best first; blocks."""

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Find the passages whose vectors are nearest to the query's; concurrent queries are encoded together."""
        if not query.strip() or k < 1:
            return []
        return await in_search_thread(self.nearest, query, await self.encode(query), k)


@dataclass(frozen=True)
class FusedIndex:
    """BM25 and vectors of one corpus, searched concurrently and merged by relative scores."""

    source: str
    bm25: SearchableIndex
    vectors: SearchableIndex
    bm25_weight: float = BM25_WEIGHT

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Find the best of the fused ranking."""
        depth = max(k, DEPTH)
        bm25, vectors = await asyncio.gather(self.bm25.asearch(query, depth), self.vectors.asearch(query, depth))
        return fuse_rankings([(bm25, self.bm25_weight), (vectors, 1 - self.bm25_weight)], k)


def fuse_rankings(rankings: Sequence[tuple[Sequence[Hit], float]], k: int) -> list[Hit]:
    """Merge weighted rankings of one corpus, each best first, by relative scores (Bruch, Gai and Ingber 2023).

    At most k hits, best first, equal scores by id. Each passage scores the sum of weight · (score - lowest) /
    (highest - lowest) over the rankings that have it; where all scores of a ranking are equal, of its weight.
    """
    hits = {hit.passage.id: hit for ranking, _ in rankings for hit in ranking}
    scores = dict.fromkeys(hits, 0.0)
    for ranking, weight in rankings:
        lowest, highest = (ranking[-1].score, ranking[0].score) if ranking else (0.0, 0.0)
        for hit in ranking:
            scores[hit.passage.id] += weight * ((hit.score - lowest) / (highest - lowest) if highest > lowest else 1.0)
    order = sorted(scores, key=lambda key: (-scores[key], key))[: max(k, 0)]
    return [hits[key]._replace(score=scores[key]) for key in order]


def drop_copies(hits: Sequence[Hit], k: int) -> list[Hit]:
    """Return the first k hits without the copies of those before, which name them by their ids.

    A copy is a passage of another document with the same numbers and nearly the same words. Passages without a source,
    such as those of a data set, have no copies.
    """
    kept: list[Hit] = []
    copies: list[list[str]] = []
    for hit in hits:
        earlier = enumerate(kept if hit.passage.metadata.get("source") else ())
        first = next((number for number, each in earlier if _is_copy(hit, each)), None)
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
    source = other.passage.metadata.get("source")
    if not source or source == one.passage.metadata["source"]:
        return False
    (pairs, numbers), (other_pairs, other_numbers) = (_shape(hit.passage.text) for hit in (one, other))
    return numbers == other_numbers and len(pairs & other_pairs) >= _ALIKE * len(pairs | other_pairs)


@lru_cache(maxsize=4096)
def _shape(text: str) -> tuple[frozenset[tuple[str, str]], tuple[str, ...]]:
    """Return the pairs of neighbouring words of a text, and its numbers."""
    words = ["", *_WORD.findall(text.lower()), ""]
    return frozenset(pairwise(words)), tuple(_NUMBER.findall(text))


class IndexRetriever(AsyncRetriever):
    """A LangChain retriever whose documents come best first, with their passage's metadata, title, score and source.

    The source of a passage without one is the index. `linked_from` is the title of the passage whose link
    brought a document here.
    """

    index: SkipValidation[SearchableIndex]
    keep_copies: bool = False
    """True if a passage that stands word for word in several documents is returned several times."""

    async def search(self, query: str, k: int) -> list[Document]:
        """Search the index, deeper where copies take places."""
        hits = await self.index.asearch(query, k)
        if not self.keep_copies and len(drop_copies(hits, k)) < len(hits):
            hits = drop_copies(await self.index.asearch(query, _DEPTH_OF_COPIES * k), k)
        return self.to_documents(hits)

    def to_documents(self, hits: Sequence[Hit]) -> list[Document]:
        """Return hits as documents, in their order."""
        return [
            Document(
                id=hit.passage.id,
                page_content=hit.passage.text,
                metadata={
                    **self._source(hit.passage),
                    **({LINKED_FROM: hit.linked_from} if hit.linked_from else {}),
                    **{key: value for key, value in hit.passage.metadata.items() if key != HREFS},
                    "title": hit.passage.title,
                    "score": hit.score,
                },
            )
            for hit in hits
        ]

    def _source(self, passage: StoredPassage) -> dict[str, str]:
        if self.index.source is None:
            return {"source": passage.id}
        return {} if "source" in passage.metadata else {"source": self.index.source, INDEX: self.index.source}


class Bm25Retriever(IndexRetriever):
    """Finds passages by BM25; the same query on the same `Index` always gives the same list."""
