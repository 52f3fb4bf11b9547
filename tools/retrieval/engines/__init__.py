"""Search engines for corpora too large for one machine: Milvus (embedded or a cluster) and Elasticsearch.

Every engine stores id, title, text, our analyzer's terms, vectors if a model was named, and the information that the
manifest of an index on disk has.
"""
