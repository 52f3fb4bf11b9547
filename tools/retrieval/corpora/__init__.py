"""Readers of corpora: a stream of titled passages out of any of the known formats."""

from hopgraph.tools.retrieval.corpora.formats import FORMATS, Corpus, open_corpus
from hopgraph.tools.retrieval.corpora.json_corpora import passage_id
from hopgraph.tools.retrieval.corpora.passages_of import join_sentences
from hopgraph.tools.retrieval.corpora.source_records import Reading, SourceRecord

__all__ = ["FORMATS", "Corpus", "Reading", "SourceRecord", "join_sentences", "open_corpus", "passage_id"]
