"""Addresses of engines: `milvus:URI#COLLECTION` and `elasticsearch:URL#INDEX`, each with `?mode=…`."""

from dataclasses import dataclass, field
from typing import Literal, cast, get_args
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from hopgraph.state import SpecError

Mode = Literal["bm25", "dense", "hybrid"]
"""By words, by vectors, or both merged by reciprocal rank fusion."""
_MODES: tuple[str, ...] = get_args(Mode)
KINDS = ("milvus", "elasticsearch")
VALID_ENGINE_SPECS = (
    "milvus:FILE.db#COLLECTION (embedded), milvus:http://HOST:19530#COLLECTION, elasticsearch:http://HOST:9200#INDEX"
    " (filled by `hopgraph index SOURCE --to SPEC`; each may end in ?mode=bm25, dense or hybrid)"
)


@dataclass(frozen=True)
class EngineAddress:
    """Where a corpus is, and how to search it."""

    kind: str
    uri: str = field(repr=False)
    """Where the engine is: an `http(s)` address, or for Milvus a local file."""
    collection: str
    """What the engine calls the corpus: a Milvus collection, an Elasticsearch index."""
    mode: Mode | None = None
    """None: hybrid where the corpus has vectors, else BM25."""

    @property
    def remote(self) -> bool:
        """Whether it is a server's address and no local file."""
        return self.uri.startswith(("http://", "https://"))

    def __str__(self) -> str:
        """Return the spec without the mode, and without the user name and password that an address may contain."""
        uri = self.uri
        if self.remote:
            parts = urlsplit(uri)
            uri = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        return f"{self.kind}:{uri}#{self.collection}"


def is_engine(spec: str) -> bool:
    """Whether a spec is meant for an engine, valid or not."""
    kind, colon, _ = spec.strip().partition(":")
    return bool(colon) and kind in KINDS


def parse_address(spec: str) -> EngineAddress:
    """Parse an engine's spec; a SpecError says what is wrong and shows the valid ones."""
    kind, _, rest = spec.strip().partition(":")
    uri, _, tail = rest.partition("#")
    collection, _, query = tail.partition("?")
    address = EngineAddress(kind, uri.strip().rstrip("/"), collection.strip())
    problem = _problem(address) if kind in KINDS else f"no engine is called {kind!r}"
    options = dict(parse_qsl(query, keep_blank_values=True))
    mode = options.pop("mode", None)
    if options:
        problem = problem or f"the option {next(iter(options))!r} is unknown; there is mode"
    if mode is not None and mode not in _MODES:
        problem = problem or f"the mode {mode!r} is unknown; use one of: {', '.join(_MODES)}"
    if problem:
        # The address may contain a password: the message shows the spec without it.
        raise SpecError(f"{address}: {problem}; valid: {VALID_ENGINE_SPECS}")
    return EngineAddress(kind, address.uri, address.collection, cast("Mode | None", mode))


def _problem(address: EngineAddress) -> str:
    if not address.uri:
        return "the engine's address is missing"
    if not address.collection:
        return f"the name of the {'collection' if address.kind == 'milvus' else 'index'} is missing after #"
    if address.remote:
        return ""
    if address.kind == "elasticsearch":
        return "the address must begin with http:// or https://"
    return "" if address.uri.endswith(".db") else "a local Milvus file must end in .db"
