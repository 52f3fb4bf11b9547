"""What checks that passages entail a statement."""

from hopgraph.tools.scoring.entailment.lexical import LexicalEntailment
from hopgraph.tools.scoring.entailment.resolve import resolve_entailment

__all__ = ["LexicalEntailment", "resolve_entailment"]
