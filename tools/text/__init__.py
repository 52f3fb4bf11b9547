"""Sentence splitting, text analysis and comparison."""

from hopgraph.tools.text.analyzer import DEFAULT_ANALYZER, Analyzer, content_terms
from hopgraph.tools.text.comparison import contains
from hopgraph.tools.text.languages import get_analyzer, list_language_codes
from hopgraph.tools.text.sentences import split_sentences

__all__ = [
    "DEFAULT_ANALYZER",
    "Analyzer",
    "contains",
    "content_terms",
    "get_analyzer",
    "list_language_codes",
    "split_sentences",
]
