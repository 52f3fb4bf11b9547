"""What checks that passages entail a statement."""

from hopgraph.tools.entailment.lexical import LexicalEntailment
from hopgraph.tools.entailment.resolve import resolve_entailment

__all__ = ["LexicalEntailment", "resolve_entailment"]
