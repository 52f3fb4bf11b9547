"""Web search as a retriever: `web:serper` (Google) and `web:wikipedia`.

The wrappers of langchain-community are not used: they have no timeout, a fixed address and, for Wikipedia,
one language per process and two requests per page; and the package is being retired.
"""

from hopgraph.tools.retrieval.web.resolve import VALID_WEB_SPECS, resolve_web
from hopgraph.tools.retrieval.web.web_retriever import WebRetriever

__all__ = ["VALID_WEB_SPECS", "WebRetriever", "resolve_web"]
