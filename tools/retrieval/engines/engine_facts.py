"""The facts stored with a collection in an engine: those of the manifest of an index on disk."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.embeddings import EmbeddingFacts
from hopgraph.tools.retrieval.index_manifest import CorpusFacts, load_analyser
from hopgraph.tools.retrieval.ranking import K1, B
from hopgraph.tools.text import Analyser

FORMAT_VERSION = 1
"""Grows whenever an older hopgraph could not read, or would misread, a new collection."""
_KIND = "hopgraph-collection"
_REMEDY = "fill a new collection by `hopgraph index`"


class Checkpoint(BaseModel):
    """How far an unfinished run has come; everything up to here is in the engine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """The file or folder, by name."""
    passages: int = Field(ge=0)
    fingerprint: str
    """SHA-256 over these passages."""


class EngineFacts(BaseModel):
    """Everything that a search of a collection depends on; stored with it as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["hopgraph-collection"] = _KIND
    format_version: Literal[1] = FORMAT_VERSION
    analyser: dict[str, JsonValue]
    k1: float = K1
    b: float = B
    embedding: EmbeddingFacts | None = None
    """The model whose vectors are stored; None for BM25 alone."""
    corpora: tuple[CorpusFacts, ...] = ()
    """What was put in completely, in order; empty until the first is."""
    unfinished: Checkpoint | None = None

    def load_analyser(self, place: str) -> Analyser:
        """Return the analyser that the collection was filled with; `place` is its address, for messages.

        Raises:
            CorpusError: this hopgraph has another version of it, or lacks it or its package.
        """
        return load_analyser(place, self.analyser, _REMEDY)

    def with_corpus(self, corpus: CorpusFacts) -> "EngineFacts":
        """Return the facts once a corpus is in; one that was there before is not listed twice."""
        others = tuple(each for each in self.corpora if each.fingerprint != corpus.fingerprint)
        return self.model_copy(update={"corpora": (*others, corpus), "unfinished": None})


def parse_engine_facts(place: str, stored: str | None) -> EngineFacts:
    """Parse and check the facts of a collection.

    Args:
        place: the engine's address, for messages.
        stored: JSON; None when the collection has no facts.

    Raises:
        CorpusError: the collection is not ours, damaged, or of another format version or analyser.
    """
    if stored is None:
        raise CorpusError(f"{place}: this collection was not made by `hopgraph index`; choose another name")
    try:
        facts = EngineFacts.model_validate_json(stored)
    except ValidationError as error:
        first = error.errors()[0]
        found = ".".join(map(str, first["loc"])) or "facts"
        raise CorpusError(
            f"{place}: the facts stored with the collection cannot be read ({found}: {first['msg']}); "
            f"it is damaged or of another version of hopgraph: {_REMEDY}"
        ) from None
    facts.load_analyser(place)
    return facts
