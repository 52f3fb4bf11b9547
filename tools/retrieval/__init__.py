"""Indexes of corpora, and retrievers over them.

Names are imported on first use, since they import NumPy, which would slow down every graph's start.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopgraph.tools.retrieval.corpora.chunking import ChunkOptions
    from hopgraph.tools.retrieval.index import Hit, Index, index_in_memory, open_index
    from hopgraph.tools.retrieval.index_builder import build_index, delete_passages, update_index
    from hopgraph.tools.retrieval.index_sources import FileChanges
    from hopgraph.tools.retrieval.index_writer import IndexReport
    from hopgraph.tools.retrieval.passage_retriever import Bm25Retriever
    from hopgraph.tools.retrieval.resolve import resolve_retriever

__all__ = [
    "Bm25Retriever",
    "ChunkOptions",
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


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in ("corpora.chunking", "index", "index_sources", "passage_retriever", "resolve", "index_builder"):
            if name in (found := vars(import_module(f"{__name__}.{module}"))):
                return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
