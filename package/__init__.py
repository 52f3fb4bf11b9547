"""Published multi-hop question-answering methods as LangGraph graphs.

The parts are `hopgraph.graphs`, `hopgraph.nodes`, `hopgraph.state` and `hopgraph.tools`, each in a top-level folder of
the repository.
"""

from importlib.metadata import version

__version__: str = version("hopgraph")

__all__ = ["__version__"]
