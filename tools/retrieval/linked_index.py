"""An index whose searches follow links between passages."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from numpy.typing import NDArray

from hopgraph.state import CorpusError
from hopgraph.tools.io.background import in_search_thread
from hopgraph.tools.retrieval.index import RANKS, Hit, Index
from hopgraph.tools.retrieval.index_manifest import DAMAGE, damaged, map_array, read_manifest
from hopgraph.tools.retrieval.joined_retriever import JoinedRetriever, open_retriever
from hopgraph.tools.retrieval.links import LINK_DEPTH, LinkedRow, Links
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever, SearchableIndex
from hopgraph.tools.retrieval.passage_store import PassageFile, PassageStore, StoredPassage

Whole = Literal["section", "document"]
"""What to read from its beginning: the passages under one heading, or the whole document."""


@dataclass(frozen=True)
class LinkedIndex:
    """Passages found by any index, and those linked with them."""

    base: SearchableIndex
    links: Links
    passages: PassageStore
    """The linked passages; a search finds no others."""
    ranks: NDArray[np.int32]
    """Each passage's rank by id."""

    @cached_property
    def by_id(self) -> NDArray[np.int64]:
        """Rows in the order of the passages' ids; for a base whose hits have no rows, and for `neighbors`."""
        return np.argsort(self.ranks)

    @property
    def source(self) -> str | None:
        """Return the base's name in the passages' metadata."""
        return self.base.source

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Return at most k passages by relative score; those found by a link name the linking passage."""
        if not query.strip() or k < 1:
            return []
        if isinstance(self.base, Index):  # it ranks without reading passages
            return await self.base.run_search(self._search, query, k)
        known = await self._by_row(await self.base.asearch(query, max(k, LINK_DEPTH)))
        return self._follow(query, [(row, hit.score) for row, hit in known.items()], k, known)

    def _search(self, query: str, k: int) -> list[Hit]:
        return self._follow(query, cast("Index", self.base).search_rows(query, max(k, LINK_DEPTH)), k, {})

    def _follow(self, query: str, ranked: Sequence[tuple[int, float]], k: int, known: Mapping[int, Hit]) -> list[Hit]:
        try:
            return [self._hit(each, known.get(each.row)) for each in self.links.follow(query, ranked, k)]
        except DAMAGE as error:  # a damaged file has numbers out of range
            raise damaged(str(self.source), error) from None

    def neighbors(self, key: str, offset: int, count: int, whole: Whole | None = None) -> list[Hit]:
        """Return at most `count` consecutive passages of a document, starting `offset` passages from a given one.

        With `whole` they start `offset` passages from the beginning of the document, or of the section.
        """
        row = self._row_of(key)
        if row is None:
            return []
        unit = _unit_of(self.passages[row], whole)
        while whole and row and _unit_of(self.passages[row - 1], whole) == unit:
            row -= 1
        rows = range(max(0, row + offset), min(row + offset + count, len(self.passages)))
        found = ((each, self.passages[each]) for each in rows)
        return [Hit(passage, 1.0, each) for each, passage in found if _unit_of(passage, whole) == unit]

    def _hit(self, found: LinkedRow, known: Hit | None) -> Hit:
        source = None if found.source is None else self.passages[found.source]
        name = source.title or source.id if source else ""
        return Hit(known.passage if known else self.passages[found.row], found.score, found.row, name)

    async def _by_row(self, hits: Sequence[Hit]) -> dict[int, Hit]:
        if all(hit.row is not None for hit in hits):
            return {self._row(hit): hit for hit in hits}
        return await in_search_thread(lambda: {self._row(hit): hit for hit in hits})

    def _row(self, hit: Hit) -> int:
        if hit.row is not None:
            return hit.row
        row = self._row_of(hit.passage.id)
        if row is None:
            raise CorpusError(
                f"{self.source}: found the passage {hit.passage.id!r:.80}, which is not in the index with the links; "
                "build both from the same files"
            )
        return row

    def _row_of(self, key: str) -> int | None:
        place = bisect_left(self.by_id, key, key=lambda row: self.passages[int(row)].id)
        row = int(self.by_id[place]) if place < len(self.by_id) else None
        return row if row is not None and self.passages[row].id == key else None


def _unit_of(passage: StoredPassage, whole: Whole | None) -> object:
    document = passage.metadata.get("source") or passage.title
    return (document, passage.title) if whole == "section" else document  # a title has its section's headings


def with_links(base: SearchableIndex, folder: Path, passages: PassageStore | None = None) -> SearchableIndex:
    """Return an index that follows the links stored in a folder, or `base` if there are none.

    `folder` is an index of the same passages, which are read from it if not given. CorpusError if it is not, or is
    damaged.
    """
    if passages is None:
        read_manifest(folder)
        passages = PassageFile(folder)
    links = Links.load(folder, len(passages))
    return LinkedIndex(base, links, passages, map_array(folder / RANKS, len(passages))) if links else base


def without_links(retriever: Runnable[str, Any]) -> Runnable[str, Any]:
    """Return a retriever that searches the same index without following links; other kinds are returned as is."""
    if isinstance(retriever, IndexRetriever) and isinstance(retriever.index, LinkedIndex):
        return retriever.model_copy(update={"index": retriever.index.base})
    if isinstance(retriever, JoinedRetriever):
        return retriever.model_copy(update={"links": False})
    return retriever


async def read_document(
    retriever: Runnable[str, Any], key: str, offset: int, count: int, whole: Whole | None = None
) -> list[Document]:
    """Return at most `count` consecutive passages of a passage's document; see `LinkedIndex.neighbors`.

    In an index, the passages of a document (those with the same source, else the same title) are consecutive. Empty if
    the document has none there, or the retriever is not over an index with links, which alone finds passages by id. A
    `JoinedRetriever` asks the retriever whose prefix the id has.
    """
    if isinstance(retriever, JoinedRetriever):
        for prefix, given in retriever.retrievers.items():
            one, own_key = await open_retriever(given), key.removeprefix(prefix)
            if key.startswith(prefix) and (found := await read_document(one, own_key, offset, count, whole)):
                return [each.model_copy(update={"id": each.id and f"{prefix}{each.id}"}) for each in found]
        return []
    if not (isinstance(retriever, IndexRetriever) and isinstance(retriever.index, LinkedIndex)):
        return []
    index = retriever.index
    hits = await in_search_thread(index.neighbors, key, offset, count, whole)
    return retriever.to_documents(hits)
