"""Web search as a retriever: Google, Wikipedia, and the searches of langchain-community."""

from hopgraph.tools.retrieval.web.resolve import VALID_WEB_SPECS, resolve_web

__all__ = ["VALID_WEB_SPECS", "resolve_web"]
