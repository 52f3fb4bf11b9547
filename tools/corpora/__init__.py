"""Readers of corpora: a stream of titled passages out of any of the known formats."""

from hopgraph.tools.corpora.formats import FORMATS, Corpus, open_corpus
from hopgraph.tools.corpora.json_corpora import passage_id
from hopgraph.tools.corpora.passages_of import join_sentences
from hopgraph.tools.corpora.records import Reading, SourceRecord

__all__ = ["FORMATS", "Corpus", "Reading", "SourceRecord", "join_sentences", "open_corpus", "passage_id"]
