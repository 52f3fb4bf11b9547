"""Sentences and terms of a text."""

from hopgraph.tools.text.analyser import DEFAULT_ANALYSER, Analyser, content_terms
from hopgraph.tools.text.contains import contains
from hopgraph.tools.text.languages import analyser_for, language_codes
from hopgraph.tools.text.sentences import split_sentences

__all__ = [
    "DEFAULT_ANALYSER",
    "Analyser",
    "analyser_for",
    "contains",
    "content_terms",
    "language_codes",
    "split_sentences",
]
