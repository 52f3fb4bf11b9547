"""Resolve an entailment checker by its spec."""

from collections.abc import Callable

from hopgraph.state import EntailmentChecker
from hopgraph.tools.scoring.entailment.by_model import model_entailment
from hopgraph.tools.scoring.entailment.lexical import LexicalEntailment
from hopgraph.tools.scoring.entailment.local import minicheck, nli, t5_nli
from hopgraph.tools.scoring.entailment.remote import remote_entailment
from hopgraph.tools.scoring.weights.model_specs import resolve_by_kind

KINDS: dict[str, Callable[[str], EntailmentChecker]] = {
    "nli": nli,
    "t5-nli": t5_nli,
    "minicheck": minicheck,
    "model": model_entailment,
    "http": remote_entailment,
    "https": remote_entailment,
}
"""The function behind each kind of spec."""
VALID_SPECS = (
    "lexical, nli:NAME_OR_PATH, t5-nli:NAME_OR_PATH, minicheck:NAME_OR_PATH, "
    "http://HOST:PORT (a server with /predict), "
    "model:SPEC (a language model)"
)


def resolve_entailment(spec: str) -> EntailmentChecker:
    """Return the entailment checker that a spec names.

    Loads models, so it belongs in a thread. A model is loaded once for the process.

    Raises:
        SpecError: no checker has this spec, or its model cannot be loaded; the message names the valid specs.
    """
    spec = spec.strip()
    if spec == LexicalEntailment.name:
        return LexicalEntailment()
    return resolve_by_kind("entailment checker", spec, KINDS, VALID_SPECS)
