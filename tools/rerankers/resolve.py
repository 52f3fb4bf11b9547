"""From a reranker's spec to the reranker."""

from collections.abc import Callable

from hopgraph.state import Reranker, SpecError
from hopgraph.tools.rerankers.lexical import LexicalReranker

RERANKERS: dict[str, Callable[[], Reranker]] = {"lexical": LexicalReranker}
"""What each spec makes."""


def resolve_reranker(spec: str) -> Reranker:
    """Make the reranker that a spec names.

    Raises:
        SpecError: no reranker has this spec; the message names those there are.
    """
    make = RERANKERS.get(spec.strip())
    if make is None:
        raise SpecError(f"reranker {spec!r} is unknown; use one of: {', '.join(RERANKERS)}")
    return make()
