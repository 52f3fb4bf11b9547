"""What an engine keeps beside a corpus: the facts that the manifest of an index on disk holds."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from hopgraph.state import CorpusError, SettingsError, SpecError
from hopgraph.tools.retrieval.embeddings import EmbeddingFacts
from hopgraph.tools.retrieval.index_manifest import CorpusFacts
from hopgraph.tools.retrieval.ranking import K1, B
from hopgraph.tools.text import Analyser, get_analyser

FORMAT_VERSION = 1
"""Grows whenever an older hopgraph could not read, or would misread, a new collection."""
_KIND = "hopgraph-collection"


class Checkpoint(BaseModel):
    """How far an unfinished run has come; everything up to here is in the engine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """The file or folder, by name."""
    passages: int = Field(ge=0)
    fingerprint: str
    """SHA-256 over these passages."""


class EngineFacts(BaseModel):
    """Everything that somebody who searches a collection must know; kept with the collection as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["hopgraph-collection"] = _KIND
    format_version: Literal[1] = FORMAT_VERSION
    analyser: dict[str, JsonValue]
    k1: float = K1
    b: float = B
    embedding: EmbeddingFacts | None = None
    """The model whose vectors the engine holds; None for BM25 alone."""
    corpora: tuple[CorpusFacts, ...] = ()
    """What was put in completely, in order; empty until the first is."""
    unfinished: Checkpoint | None = None

    def with_corpus(self, corpus: CorpusFacts) -> "EngineFacts":
        """Return the facts once a corpus is in; one that was there before is not listed twice."""
        others = tuple(each for each in self.corpora if each.fingerprint != corpus.fingerprint)
        return self.model_copy(update={"corpora": (*others, corpus), "unfinished": None})


def read_facts(place: str, kept: str | None) -> EngineFacts:
    """Read and check what an engine keeps of a collection that exists.

    Args:
        place: the engine's address, for messages.
        kept: the facts as JSON; None when the collection has none.

    Raises:
        CorpusError: the collection is not ours, damaged, or of another format version or analyser.
        SpecError: the analyser's package is not installed.
    """
    if kept is None:
        raise CorpusError(f"{place}: this collection was not made by `hopgraph index`; choose another name")
    try:
        facts = EngineFacts.model_validate_json(kept)
    except ValidationError as error:
        first = error.errors()[0]
        found = ".".join(map(str, first["loc"])) or "facts"
        raise CorpusError(
            f"{place}: what the collection says of itself cannot be read ({found}: {first['msg']}); "
            "it is damaged or of another version of hopgraph: fill a new collection by `hopgraph index`"
        ) from None
    analyser_of(place, facts)
    return facts


def analyser_of(place: str, facts: EngineFacts) -> Analyser:
    """Get the analyser that a collection was filled with.

    Args:
        place: the engine's address, for messages.
        facts: what the collection says of itself.

    Raises:
        CorpusError: this hopgraph has no such analyser. SpecError: the analyser's package is not installed.
    """
    try:
        analyser = get_analyser(str(facts.analyser.get("language")))
        if facts.analyser == analyser.describe():
            return analyser
    except SpecError:
        raise
    except SettingsError as error:
        raise CorpusError(f"{place}: {error}") from None
    raise CorpusError(
        f"{place}: filled with another version of the analyser, which would miss passages;"
        " fill a new collection by `hopgraph index`"
    )
