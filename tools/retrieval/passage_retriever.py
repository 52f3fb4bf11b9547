"""Indexes as LangChain retrievers, alone or fused; of several copies of a passage one is shown and names the others."""

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
"""Weight of BM25 in a fused score; the vectors have the rest. docs/models.md has the reason."""
COPIES = "copies"
"""Metadata key of the ids of a passage's copies."""
_ALIKE = 0.95
"""Minimum Jaccard similarity of the word bigrams of two copies; one changed word in a passage of a hundred has 0.96."""
_WORD, _NUMBER = re.compile(r"\w+"), re.compile(r"\d[\d.,]*")
_COPY_DEPTH = 4
"""Hits to search for each one wanted, if there are copies among them."""
DEPTH = 100
"""Minimum number of hits of each ranking to fuse."""


class SearchableIndex(Protocol):
    """Passages with an async search."""

    @property
    def source(self) -> str | None:
        """Return its name in the passages' metadata, e.g. `faiss:DIR`; None if each passage's id is its source."""
        ...

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Return at most k passages, best first, ties by id; none for a blank query."""
        ...


@dataclass(frozen=True)
class VectorIndex:
    """Passages searched by their vectors, from any number of threads."""

    source: str
    encode: Callable[[str], Awaitable[NDArray[np.float32]]]
    """Makes a query's vector, or one for each of its tokens, with the model of the passages' vectors."""
    nearest: Callable[[str, NDArray[np.float32], int], list[Hit]]
    """Returns at most k passages for a query and its result of `encode`, best first; blocks."""

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Return the passages whose vectors are nearest to the query's; concurrent queries are encoded together."""
        if not query.strip() or k < 1:
            return []
        return await in_search_thread(self.nearest, query, await self.encode(query), k)


@dataclass(frozen=True)
class FusedIndex:
    """BM25 and vectors of one corpus, searched concurrently and fused by relative scores."""

    source: str
    bm25: SearchableIndex
    vectors: SearchableIndex
    bm25_weight: float = BM25_WEIGHT

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Return the best of the fused ranking."""
        depth = max(k, DEPTH)
        bm25, vectors = await asyncio.gather(self.bm25.asearch(query, depth), self.vectors.asearch(query, depth))
        return fuse_rankings([(bm25, self.bm25_weight), (vectors, 1 - self.bm25_weight)], k)


def fuse_rankings(rankings: Sequence[tuple[Sequence[Hit], float]], k: int) -> list[Hit]:
    """Fuse weighted rankings of one corpus, each best first, by relative scores (Bruch, Gai and Ingber 2023).

    Returns at most k hits, best first, ties by id. A passage's score is the sum of weight · (score - lowest) / (highest
    - lowest) over the rankings that have it; a ranking with equal scores adds its weight.
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
    """Return the first k hits without copies of earlier ones, which get the copies' ids.

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
    """Return a text's word bigrams and its numbers."""
    words = ["", *_WORD.findall(text.lower()), ""]
    return frozenset(pairwise(words)), tuple(_NUMBER.findall(text))


class IndexRetriever(AsyncRetriever):
    """A LangChain retriever over an index; documents have their passage's metadata, title, score and source.

    The source of a passage without one is the index. `linked_from` is the title of the passage that linked to a
    document.
    """

    index: SkipValidation[SearchableIndex]
    keep_copies: bool = False
    """True to return each copy of a passage from several documents."""

    async def search(self, query: str, k: int) -> list[Document]:
        """Search the index, deeper if copies take up places."""
        hits = await self.index.asearch(query, k)
        if not self.keep_copies and len(drop_copies(hits, k)) < len(hits):
            hits = drop_copies(await self.index.asearch(query, _COPY_DEPTH * k), k)
        return self.to_documents(hits)

    def to_documents(self, hits: Sequence[Hit]) -> list[Document]:
        """Convert hits to documents, in order."""
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
    """A retriever by BM25; the same query on the same `Index` always returns the same list."""
