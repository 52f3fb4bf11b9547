"""BM25 indexes of corpora, and retrievers over them."""

from hopgraph.tools.retrieval.build import IndexReport, build_index
from hopgraph.tools.retrieval.index import Hit, Index, memory_index, open_index
from hopgraph.tools.retrieval.resolve import resolve_retriever
from hopgraph.tools.retrieval.retriever import Bm25Retriever

__all__ = [
    "Bm25Retriever",
    "Hit",
    "Index",
    "IndexReport",
    "build_index",
    "memory_index",
    "open_index",
    "resolve_retriever",
]
