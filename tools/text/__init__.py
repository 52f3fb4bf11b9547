"""Sentences and terms of a text."""

from hopgraph.tools.text.analyser import DEFAULT_ANALYSER, Analyser, content_terms
from hopgraph.tools.text.sentences import split_sentences

__all__ = ["DEFAULT_ANALYSER", "Analyser", "content_terms", "split_sentences"]
