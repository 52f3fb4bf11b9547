"""What hopgraph asks of a search engine; Milvus and Elasticsearch each have a file that provides it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from hopgraph.state import CorpusError
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.engines.address import EngineAddress
from hopgraph.tools.retrieval.engines.engine_facts import EngineFacts
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passages import StoredPassage

TERMS, VECTOR = "terms", "vector"
"""The names of the fields that are searched, in every engine.

`terms` holds our analyser's terms, joined by spaces, which the engine only splits there: so every engine
sees the same words as an index on disk, in every language.
"""
CONNECT_SECONDS = 5.0
CALL_SECONDS = 60.0


class EngineRow(NamedTuple):
    """A passage as it goes to an engine."""

    passage: StoredPassage
    terms: tuple[str, ...]
    vector: list[float] | None = None


class SearchEngine(Protocol):
    """One collection in an engine. Its calls block, so they belong in a thread; any number may run at once.

    Each of them raises CorpusError when the engine cannot be reached or refuses.
    """

    address: EngineAddress

    def facts(self) -> EngineFacts | None:
        """Read what the collection says of itself; None when there is no such collection.

        Raises:
            CorpusError: the collection is not ours, damaged, or of another version or analyser.
        """
        ...

    def create(self, facts: EngineFacts) -> None:
        """Make the empty collection."""
        ...

    def keep(self, facts: EngineFacts) -> None:
        """Replace what the collection says of itself."""
        ...

    def upsert(self, rows: Sequence[EngineRow]) -> None:
        """Put passages in; those with an id that is there are replaced."""
        ...

    def refusal(self, row: EngineRow) -> str:
        """Say why the engine cannot hold a passage; empty when it can."""
        ...

    def finish(self) -> int:
        """Make everything that was put in searchable; return how many passages there are."""
        ...

    def search_terms(self, terms: Sequence[str], k: int) -> list[Hit]:
        """Find at most k passages by BM25, best first; a repeated term counts each time."""
        ...

    def search_vector(self, vector: list[float], k: int) -> list[Hit]:
        """Find at most k passages by inner product, best first."""
        ...


def sort_hits(hits: list[Hit], k: int) -> list[Hit]:
    """Order what an engine found: best first, equal scores by id (which of them an engine gives is its own choice)."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))[:k]


def engine_error(address: EngineAddress, what: str, said: str) -> CorpusError:
    """Turn what an engine says of a failure into our error, on one line and without the keys of the environment."""
    return CorpusError(f"{address}: {what}: {' '.join(redact(said).split())[:300]}")
