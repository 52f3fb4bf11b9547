"""Engine addresses, and what is stored with a collection.

An address is `milvus:URI#COLLECTION` or `elasticsearch:URL#INDEX`, each with `?mode=…&bm25_weight=…&links=DIR`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, cast, get_args
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pydantic import AliasChoices, BaseModel, Field, JsonValue

from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.embeddings.embedding_model import EmbeddingInfo
from hopgraph.tools.retrieval.index_manifest import K1, B, CorpusInfo, load_analyzer, parse_info
from hopgraph.tools.retrieval.passage_retriever import BM25_WEIGHT
from hopgraph.tools.retrieval.passage_store import StoredPassage
from hopgraph.tools.scoring.weights.model_specs import ModelSpec, share_option

SearchMode = Literal["bm25", "dense", "hybrid"]
"""By BM25, by vectors, or both fused by relative scores."""
_MODES: tuple[str, ...] = get_args(SearchMode)
ENGINE_KINDS = ("milvus", "elasticsearch")
VALID_ENGINE_SPECS = (
    "milvus:FILE.db#COLLECTION (embedded), milvus:http://HOST:19530#COLLECTION, elasticsearch:http://HOST:9200#INDEX"
    " (filled by `hopgraph index SOURCE --to SPEC`; each may end in ?mode=bm25, dense or "
    "hybrid&bm25_weight=0.4&links=DIR)"
)


@dataclass(frozen=True)
class EngineAddress:
    """Where a collection is, and how to search it."""

    kind: str
    uri: str = field(repr=False)
    """An `http(s)` address, or for Milvus a local file."""
    collection: str
    """A Milvus collection or an Elasticsearch index."""
    mode: SearchMode | None = None
    """None: hybrid if the collection has vectors, else BM25."""
    bm25_weight: float = BM25_WEIGHT
    links: str = ""
    """Folder of an index of the same passages, whose links are followed; empty for none."""

    @property
    def remote(self) -> bool:
        """Return whether it is a server's address, not a local file."""
        return self.uri.startswith(("http://", "https://"))

    def __str__(self) -> str:
        """Return the spec without its options and without any user name and password."""
        uri = self.uri
        if self.remote:
            parts = urlsplit(uri)
            uri = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        return f"{self.kind}:{uri}#{self.collection}"


def is_engine(spec: str) -> bool:
    """Return whether a spec starts with the kind of an engine; it may be invalid."""
    kind, colon, _ = spec.strip().partition(":")
    return bool(colon) and kind in ENGINE_KINDS


def parse_address(spec: str) -> EngineAddress:
    """Parse an engine's spec; SpecError, which shows the valid ones, if it is invalid."""
    kind, _, rest = spec.strip().partition(":")
    uri, _, tail = rest.partition("#")
    collection, _, query = tail.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    mode = cast("SearchMode | None", options.get("mode"))
    address = EngineAddress(kind, uri.strip().rstrip("/"), collection.strip(), mode)
    if problem := _problem(address, options):
        raise SpecError(f"{address}: {problem}; valid: {VALID_ENGINE_SPECS}")
    named = ModelSpec(str(address), kind, address.uri, options)
    weight = share_option(named, "bm25_weight", BM25_WEIGHT)
    return replace(address, bm25_weight=weight, links=options.get("links", ""))


def _problem(address: EngineAddress, options: Mapping[str, str]) -> str:
    if address.kind not in ENGINE_KINDS:
        return f"there is no engine {address.kind!r}"
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


REMEDY = "fill a new collection with `hopgraph index`"

METADATA, FILE, FILE_RECORD = "metadata", "file", "file_record"
"""Fields with a passage's metadata, and those that tell an update which files are stored."""
TERMS, VECTOR = "terms", "vector"
"""Fields that are searched, in every engine.

`terms` has our analyzer's terms joined by spaces, at which the engine splits them: so every engine sees the same terms
as an index on disk, in every language.
"""
CONNECT_SECONDS = 5.0
CALL_SECONDS = 60.0


class EngineRow(NamedTuple):
    """A passage as sent to an engine."""

    passage: StoredPassage
    terms: tuple[str, ...]
    vector: list[float] | None = None
    file: str = ""
    """Digest of its source and its file; the source's digits come first."""
    file_record: str = ""
    """In a file's last passage, the file's hash, number of passages and name; marks it as complete."""


class Checkpoint(BaseModel, frozen=True, extra="forbid"):
    """The progress of an unfinished run; everything up to here is in the engine."""

    source: str
    """Name of the file or folder."""
    passages: int = Field(ge=0)
    fingerprint: str
    """SHA-256 over the hashes and names of the files that the run reads."""


class CollectionInfo(BaseModel, frozen=True, extra="forbid"):
    """Everything that searching a collection depends on; stored with it as JSON."""

    kind: Literal["hopgraph-collection"] = "hopgraph-collection"
    format_version: Literal[1] = 1
    """Increased whenever an older hopgraph could not read, or would misread, a new collection."""
    analyzer: dict[str, JsonValue] = Field(validation_alias=AliasChoices("analyzer", "analyser"))  # its former key
    k1: float = K1
    b: float = B
    embedding: EmbeddingInfo | None = None
    """The model of the stored vectors; None for BM25 alone."""
    corpora: tuple[CorpusInfo, ...] = ()
    """Completely stored corpora, in order."""
    unfinished: Checkpoint | None = None


def parse_collection_info(place: str, stored: str | None) -> CollectionInfo:
    """Parse and check the info stored with a collection; `stored` is None if it has none.

    CorpusError if the collection is not ours, damaged, or of another format version or analyzer.
    """
    if stored is None:
        raise CorpusError(f"{place}: this collection was not made by `hopgraph index`; choose another name")
    info = parse_info(CollectionInfo, stored, place, REMEDY)
    load_analyzer(place, info.analyzer, REMEDY)
    return info


def engine_error(address: EngineAddress, what: str, said: str) -> CorpusError:
    """Return the error for an engine's failure, as one line without keys."""
    return CorpusError(f"{address}: {what}: {' '.join(redact(said).split())[:300]}")
