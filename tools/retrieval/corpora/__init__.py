"""Corpus readers: each known format becomes a stream of titled passages."""

from hopgraph.tools.retrieval.corpora.formats import CORPUS_FORMATS, Corpus, hash_passage, join_sentences, open_corpus
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading, SourceRecord

__all__ = ["CORPUS_FORMATS", "Corpus", "CorpusReading", "SourceRecord", "hash_passage", "join_sentences", "open_corpus"]
