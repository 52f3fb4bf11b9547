"""Resolve a reranker by its spec."""

from collections.abc import Callable

from hopgraph.state import Reranker
from hopgraph.tools.scoring.rerankers.by_model import model_reranker
from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker
from hopgraph.tools.scoring.rerankers.local import bge, cross_encoder
from hopgraph.tools.scoring.rerankers.remote import remote_reranker
from hopgraph.tools.scoring.weights.model_specs import resolve_by_kind

KINDS: dict[str, Callable[[str], Reranker]] = {
    "bge": bge,
    "cross-encoder": cross_encoder,
    "model": model_reranker,
    "http": remote_reranker,
    "https": remote_reranker,
    "rerank": remote_reranker,
}
"""The function behind each kind of spec."""
VALID_SPECS = (
    "lexical, bge:NAME_OR_PATH, cross-encoder:NAME_OR_PATH, http://HOST:PORT (a server with /rerank), "
    "model:SPEC (a language model)"
)


def resolve_reranker(spec: str) -> Reranker:
    """Return the reranker that a spec names.

    Loads models, so it belongs in a thread. A model is loaded once for the process.

    Raises:
        SpecError: no reranker has this spec, or its model cannot be loaded; the message names the valid specs.
    """
    spec = spec.strip()
    if spec == LexicalReranker.name:
        return LexicalReranker()
    return resolve_by_kind("reranker", spec, KINDS, VALID_SPECS)
