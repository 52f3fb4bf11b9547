"""A search engine's collection as a LangChain retriever."""

from dataclasses import dataclass
from pathlib import Path

from langchain_core.embeddings import Embeddings

from hopgraph.state import CorpusError
from hopgraph.tools.io.background import in_search_thread
from hopgraph.tools.retrieval.embeddings.resolve import resolve_embeddings
from hopgraph.tools.retrieval.engines.elasticsearch import ElasticsearchEngine
from hopgraph.tools.retrieval.engines.engine import REMEDY, CollectionInfo, EngineAddress, parse_address
from hopgraph.tools.retrieval.engines.milvus import MilvusEngine
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.index_manifest import load_analyzer
from hopgraph.tools.retrieval.linked_index import with_links
from hopgraph.tools.retrieval.passage_retriever import FusedIndex, IndexRetriever, SearchableIndex, VectorIndex
from hopgraph.tools.text import Analyzer

SearchEngine = MilvusEngine | ElasticsearchEngine


@dataclass(frozen=True)
class TermIndex:
    """A collection searched by terms."""

    source: str
    engine: SearchEngine
    analyzer: Analyzer

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Find passages by BM25."""
        terms = self.analyzer.terms(query)
        return _sorted(await in_search_thread(self.engine.search_terms, terms, k)) if terms and k > 0 else []


def _sorted(hits: list[Hit]) -> list[Hit]:
    """Sort hits best first, ties by id; an engine returns ties in any order."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))


def connect(address: EngineAddress) -> SearchEngine:
    """Connect to the engine at an address."""
    return MilvusEngine(address) if address.kind == "milvus" else ElasticsearchEngine(address)


def resolve_engine(spec: str, embeddings: str | Embeddings | None = None) -> IndexRetriever:
    """Open a retriever over a collection filled by `index_into`; connects, so call it in a thread.

    `embeddings` is the model of the collection's vectors, or its spec; None for the recorded spec. `links=DIR` in the
    spec follows the links in an index of the same passages. SpecError for an invalid spec, a missing package, or a
    model that cannot be loaded; CorpusError if the engine cannot be reached, or its collection is missing, empty,
    unfinished, not ours, or lacks what the mode needs.
    """
    address = parse_address(spec)
    engine = connect(address)
    info = engine.load_info()
    if info is None:
        raise CorpusError(f"{address}: no such collection; fill it: hopgraph index SOURCE --to {address}")
    if not info.corpora:
        raise CorpusError(f"{address}: filling it was interrupted; run the same `hopgraph index` again")
    index = _open_index(address, engine, info, embeddings)
    return IndexRetriever(index=with_links(index, Path(address.links).expanduser()) if address.links else index)


def _open_index(
    address: EngineAddress, engine: SearchEngine, info: CollectionInfo, embeddings: str | Embeddings | None
) -> SearchableIndex:
    mode, source = address.mode or ("hybrid" if info.embedding else "bm25"), str(address)
    by_terms = TermIndex(source, engine, load_analyzer(source, info.analyzer, REMEDY))
    if mode == "bm25":
        return by_terms
    if info.embedding is None:
        raise CorpusError(f"{address}: has no vectors (filled without --dense); search it with ?mode=bm25")
    model = resolve_embeddings(embeddings or info.embedding.model)
    model.check(info.embedding, source)
    encode = model.with_recorded_settings(info.embedding).aquery
    by_vectors = VectorIndex(source, encode, lambda _, vector, k: _sorted(engine.search_vector(vector.tolist(), k)))
    if mode == "dense":
        return by_vectors
    return FusedIndex(source, by_terms, by_vectors, address.bm25_weight)
