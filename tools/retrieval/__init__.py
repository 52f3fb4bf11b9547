"""BM25 indexes of corpora, and retrievers over them."""

from hopgraph.tools.retrieval.index import Hit, Index, index_in_memory, open_index
from hopgraph.tools.retrieval.index_builder import IndexReport, build_index, delete_passages, update_index
from hopgraph.tools.retrieval.index_sources import FileChanges
from hopgraph.tools.retrieval.passage_retriever import Bm25Retriever
from hopgraph.tools.retrieval.resolve import resolve_retriever

__all__ = [
    "Bm25Retriever",
    "FileChanges",
    "Hit",
    "Index",
    "IndexReport",
    "build_index",
    "delete_passages",
    "index_in_memory",
    "open_index",
    "resolve_retriever",
    "update_index",
]
