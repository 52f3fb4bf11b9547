"""What scores passages and sentences against a query in this process."""

from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker

__all__ = ["LexicalReranker"]
