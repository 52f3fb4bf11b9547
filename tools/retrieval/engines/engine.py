"""Addresses of engines, and what is stored with a collection.

An address is `milvus:URI#COLLECTION` or `elasticsearch:URL#INDEX`, each with `?mode=…&bm25_weight=…&links=DIR`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, cast, get_args
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pydantic import BaseModel, Field, JsonValue

from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.embeddings.embedding_model import EmbeddingInfo
from hopgraph.tools.retrieval.index_manifest import K1, B, CorpusInfo, load_analyser, parse_facts
from hopgraph.tools.retrieval.passage_retriever import BM25_WEIGHT
from hopgraph.tools.retrieval.passage_store import StoredPassage
from hopgraph.tools.scoring.weights.model_specs import NamedModel, share_option

SearchMode = Literal["bm25", "dense", "hybrid"]
"""By words, by vectors, or both merged by relative scores."""
_MODES: tuple[str, ...] = get_args(SearchMode)
ENGINE_KINDS = ("milvus", "elasticsearch")
VALID_ENGINE_SPECS = (
    "milvus:FILE.db#COLLECTION (embedded), milvus:http://HOST:19530#COLLECTION, elasticsearch:http://HOST:9200#INDEX"
    " (filled by `hopgraph index SOURCE --to SPEC`; each may end in ?mode=bm25, dense or "
    "hybrid&bm25_weight=0.4&links=DIR)"
)


@dataclass(frozen=True)
class EngineAddress:
    """Where a corpus is, and how to search it."""

    kind: str
    uri: str = field(repr=False)
    """Where the engine is: an `http(s)` address, or for Milvus a local file."""
    collection: str
    """The name of the corpus in the engine: a Milvus collection, an Elasticsearch index."""
    mode: SearchMode | None = None
    """None: hybrid where the corpus has vectors, else BM25."""
    bm25_weight: float = BM25_WEIGHT
    links: str = ""
    """The folder of an index of the same passages, whose links are followed; empty for none."""

    @property
    def remote(self) -> bool:
        """Return whether it is a server's address and no local file."""
        return self.uri.startswith(("http://", "https://"))

    def __str__(self) -> str:
        """Return the spec without the mode, and without the user name and password that an address may contain."""
        uri = self.uri
        if self.remote:
            parts = urlsplit(uri)
            uri = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        return f"{self.kind}:{uri}#{self.collection}"


def is_engine(spec: str) -> bool:
    """Return whether a spec is meant for an engine, valid or not."""
    kind, colon, _ = spec.strip().partition(":")
    return bool(colon) and kind in ENGINE_KINDS


def parse_address(spec: str) -> EngineAddress:
    """Parse an engine's spec; a SpecError says what is wrong and shows the valid ones."""
    kind, _, rest = spec.strip().partition(":")
    uri, _, tail = rest.partition("#")
    collection, _, query = tail.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    mode = cast("SearchMode | None", options.get("mode"))
    address = EngineAddress(kind, uri.strip().rstrip("/"), collection.strip(), mode)
    if problem := _problem(address, options):
        # The address may contain a password: the message shows the spec without it.
        raise SpecError(f"{address}: {problem}; valid: {VALID_ENGINE_SPECS}")
    named = NamedModel(str(address), kind, address.uri, options)
    weight = share_option(named, "bm25_weight", BM25_WEIGHT)
    return replace(address, bm25_weight=weight, links=options.get("links", ""))


def _problem(address: EngineAddress, options: Mapping[str, str]) -> str:
    if address.kind not in ENGINE_KINDS:
        return f"no engine is called {address.kind!r}"
    if unknown := sorted(options.keys() - {"mode", "bm25_weight", "links"}):
        return f"the option {unknown[0]!r} is unknown; valid: mode, bm25_weight and links"
    if address.mode not in (None, *_MODES):
        return f"the mode {address.mode!r} is unknown; use one of: {', '.join(_MODES)}"
    if not address.uri:
        return "the engine's address is missing"
    if not address.collection:
        return f"the name of the {'collection' if address.kind == 'milvus' else 'index'} is missing after #"
    if address.remote:
        return ""
    if address.kind == "elasticsearch":
        return "the address must begin with http:// or https://"
    return "" if address.uri.endswith(".db") else "a local Milvus file must end in .db"


REMEDY = "fill a new collection by `hopgraph index`"

METADATA, FILE, FILE_RECORD = "metadata", "file", "file_record"
"""The names of the fields with a passage's metadata, and by which an update knows which files are there."""
TERMS, VECTOR = "terms", "vector"
"""The names of the fields that are searched, in every engine.

`terms` has our analyser's terms joined by spaces, where the engine splits them: so every engine sees the same words as
an index on disk, in every language.
"""
CONNECT_SECONDS = 5.0
CALL_SECONDS = 60.0


class EngineRow(NamedTuple):
    """A passage as it goes to an engine."""

    passage: StoredPassage
    terms: tuple[str, ...]
    vector: list[float] | None = None
    file: str = ""
    """A digest of its source and its file, the source's digits first."""
    file_record: str = ""
    """In a file's last passage what says that it is complete: its hash, its number of passages and its name."""


class Checkpoint(BaseModel, frozen=True, extra="forbid"):
    """How far an unfinished run has come; everything up to here is in the engine."""

    source: str
    """The file or folder, by name."""
    passages: int = Field(ge=0)
    fingerprint: str
    """SHA-256 over the hashes and names of the files that the run reads."""


class EngineFacts(BaseModel, frozen=True, extra="forbid"):
    """Everything that a search of a collection depends on; stored with it as JSON."""

    kind: Literal["hopgraph-collection"] = "hopgraph-collection"
    format_version: Literal[1] = 1
    """Grows whenever an older hopgraph could not read, or would misread, a new collection."""
    analyser: dict[str, JsonValue]
    k1: float = K1
    b: float = B
    embedding: EmbeddingInfo | None = None
    """The model whose vectors are stored; None for BM25 alone."""
    corpora: tuple[CorpusInfo, ...] = ()
    """Corpora stored completely, in order."""
    unfinished: Checkpoint | None = None


def parse_engine_facts(place: str, stored: str | None) -> EngineFacts:
    """Parse and check the facts of the collection at an engine's address, `stored` None if it has none.

    CorpusError where the collection is not ours, damaged, or of another format version or analyser.
    """
    if stored is None:
        raise CorpusError(f"{place}: this collection was not made by `hopgraph index`; choose another name")
    facts = parse_facts(EngineFacts, stored, place, REMEDY)
    load_analyser(place, facts.analyser, REMEDY)
    return facts


def engine_error(address: EngineAddress, what: str, said: str) -> CorpusError:
    """Make the error for an engine's failure: one line, without the keys of the environment."""
    return CorpusError(f"{address}: {what}: {' '.join(redact(said).split())[:300]}")
