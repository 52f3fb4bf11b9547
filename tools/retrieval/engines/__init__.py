"""Search engines for corpora beyond one machine: Milvus (embedded or a cluster) and Elasticsearch.

Every engine stores the same: id, title, text, our analyser's terms, and vectors where a model was named; and
the facts that the manifest of an index on disk has.
"""

from pathlib import Path

from langchain_core.embeddings import Embeddings

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import open_corpus
from hopgraph.tools.retrieval.embeddings import resolve_embeddings
from hopgraph.tools.retrieval.engines.address import VALID_ENGINE_SPECS, EngineAddress, is_engine, parse_address
from hopgraph.tools.retrieval.engines.elasticsearch import ElasticsearchEngine
from hopgraph.tools.retrieval.engines.engine import SearchEngine
from hopgraph.tools.retrieval.engines.engine_retriever import EngineRetriever
from hopgraph.tools.retrieval.engines.fill import FillReport, fill_collection
from hopgraph.tools.retrieval.engines.milvus import MilvusEngine
from hopgraph.tools.retrieval.progress import Progress, ignore_progress
from hopgraph.tools.text import get_analyser

__all__ = ["VALID_ENGINE_SPECS", "EngineRetriever", "FillReport", "index_into", "is_engine", "resolve_engine"]


def resolve_engine(spec: str, embeddings: str | Embeddings | None = None) -> EngineRetriever:
    """Open the retriever over a collection that `index_into` filled; connects, so it belongs in a thread.

    Args:
        spec: as VALID_ENGINE_SPECS says.
        embeddings: the model that the collection's vectors were made with, or its spec; None for the spec that
            is stored with the collection.

    Raises:
        SpecError: not a valid spec, a package is missing, or the model cannot be opened.
        CorpusError: the engine cannot be reached, or its collection is missing, empty, unfinished, not ours, or
            without what the mode needs.
    """
    address = parse_address(spec)
    engine = _connect(address)
    facts = engine.load_facts()
    if facts is None:
        raise CorpusError(f"{address}: no such collection; fill it: hopgraph index SOURCE --to {address}")
    if not facts.corpora:
        raise CorpusError(f"{address}: its filling was not finished; run the same `hopgraph index` again")
    mode = address.mode or ("hybrid" if facts.embedding else "bm25")
    if mode != "bm25" and facts.embedding is None:
        raise CorpusError(f"{address}: has no vectors (filled without --dense); search it with ?mode=bm25")
    model = None
    if mode != "bm25" and facts.embedding:
        model = resolve_embeddings(embeddings or facts.embedding.model)
        model.check(facts.embedding, str(address))
        model = model.with_recorded_settings(facts.embedding)
    return EngineRetriever(engine=engine, analyser=facts.load_analyser(str(address)), mode=mode, embeddings=model)


def index_into(
    target: str,
    source: Path,
    *,
    dense: str | Embeddings | None = None,
    format: str | None = None,  # noqa: A002 - the name of the command line's option
    skip_bad: bool = False,
    language: str = "en",
    progress: Progress | None = None,
) -> FillReport:
    """Stream a corpus into an engine; a passage whose id is there is replaced, all others stay.

    An interrupted run resumes when it is started again with the same source.

    Args:
        target: the engine's spec; its mode does not matter.
        source: a file or folder in one of the formats of `hopgraph.tools.retrieval.corpora`.
        dense: an embedding model to make vectors with, or its spec; None for BM25 alone.
        format: the source's format; None to tell it from the content.
        skip_bad: pass over bad records and count them.
        language: the passages' language.
        progress: called now and then, as by `build_index`.

    Raises:
        SettingsError, SpecError: an unknown format, language or spec, or a package is missing.
        CorpusError: the source or the engine cannot be used; the message says why.
        BadRecordError: a record that cannot be read or held; unless `skip_bad`.
    """
    analyser = get_analyser(language)
    analyser.describe()  # fails before anything is read where a package is missing
    corpus = open_corpus(source.expanduser(), format)
    engine = _connect(parse_address(target))
    model = resolve_embeddings(dense) if dense else None
    return fill_collection(engine, corpus, analyser, model, skip_bad=skip_bad, progress=progress or ignore_progress)


def _connect(address: EngineAddress) -> SearchEngine:
    return MilvusEngine(address) if address.kind == "milvus" else ElasticsearchEngine(address)
