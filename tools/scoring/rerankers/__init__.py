"""What scores passages and sentences against a query."""

from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker
from hopgraph.tools.scoring.rerankers.resolve import resolve_reranker

__all__ = ["LexicalReranker", "resolve_reranker"]
