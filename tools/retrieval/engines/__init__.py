"""Search engines for corpora beyond one machine: Milvus (embedded or a cluster) and Elasticsearch.

Every engine stores the same: id, title, text, our analyser's terms, and vectors where a model was named; and
the facts that the manifest of an index on disk has.
"""
