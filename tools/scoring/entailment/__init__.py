"""What checks in this process that passages entail a statement."""

from hopgraph.tools.scoring.entailment.lexical import LexicalEntailment

__all__ = ["LexicalEntailment"]
