"""Resolve rerankers and entailment checkers by their specs.

A model is loaded once per process. Loading takes a while, so do it in a thread.
"""

from collections.abc import Callable

from hopgraph.state import EntailmentChecker, Reranker
from hopgraph.tools.scoring.by_model import model_entailment, model_reranker
from hopgraph.tools.scoring.entailment.lexical import LexicalEntailment
from hopgraph.tools.scoring.entailment.local import local_entailment
from hopgraph.tools.scoring.remote import remote_entailment, remote_reranker
from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker
from hopgraph.tools.scoring.rerankers.local import local_reranker
from hopgraph.tools.scoring.weights.model_specs import resolve_by_kind

_RERANKERS: dict[str, Callable[[str], Reranker]] = {
    **dict.fromkeys(("bge", "cross-encoder"), local_reranker),
    "model": model_reranker,
    **dict.fromkeys(("http", "https", "rerank"), remote_reranker),
}
_VALID_RERANKERS = (
    "lexical, bge:NAME_OR_PATH, cross-encoder:NAME_OR_PATH, http://HOST:PORT (a server with /rerank), "
    "model:SPEC (a language model)"
)
_CHECKERS: dict[str, Callable[[str], EntailmentChecker]] = {
    **dict.fromkeys(("nli", "t5-nli", "minicheck"), local_entailment),
    "model": model_entailment,
    **dict.fromkeys(("http", "https"), remote_entailment),
}
_VALID_CHECKERS = (
    "lexical, nli:NAME_OR_PATH, t5-nli:NAME_OR_PATH, minicheck:NAME_OR_PATH, "
    "http://HOST:PORT (a server with /predict), model:SPEC (a language model)"
)


def resolve_reranker(spec: str) -> Reranker:
    """Return the reranker that a spec names; SpecError if it is unknown, or its model cannot be loaded."""
    spec = spec.strip()
    return LexicalReranker() if spec == "lexical" else resolve_by_kind("reranker", spec, _RERANKERS, _VALID_RERANKERS)


def resolve_entailment(spec: str) -> EntailmentChecker:
    """Return the entailment checker that a spec names; SpecError if it is unknown or cannot be loaded."""
    spec = spec.strip()
    if spec == "lexical":
        return LexicalEntailment()
    return resolve_by_kind("entailment checker", spec, _CHECKERS, _VALID_CHECKERS)
