"""Search engines for corpora beyond one machine: Milvus (embedded or a cluster) and Elasticsearch.

Every engine stores the same: id, title, text, our analyser's terms, and vectors where a model was named; and
the facts that the manifest of an index on disk has.
"""

from hopgraph.tools.retrieval.engines.engine_index import resolve_engine
from hopgraph.tools.retrieval.engines.fill import FillReport, index_into

__all__ = ["FillReport", "index_into", "resolve_engine"]
