"""Sentence splitting, text analysis and comparison."""

from hopgraph.tools.text.analyser import DEFAULT_ANALYSER, Analyser, content_terms
from hopgraph.tools.text.comparison import contains
from hopgraph.tools.text.languages import get_analyser, list_language_codes
from hopgraph.tools.text.sentences import split_sentences

__all__ = [
    "DEFAULT_ANALYSER",
    "Analyser",
    "contains",
    "content_terms",
    "get_analyser",
    "list_language_codes",
    "split_sentences",
]
