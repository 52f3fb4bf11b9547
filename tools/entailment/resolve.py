"""From an entailment checker's spec to the checker."""

from collections.abc import Callable

from hopgraph.state import EntailmentChecker, SpecError
from hopgraph.tools.entailment.lexical import LexicalEntailment

CHECKERS: dict[str, Callable[[], EntailmentChecker]] = {"lexical": LexicalEntailment}
"""What each spec makes."""


def resolve_entailment(spec: str) -> EntailmentChecker:
    """Make the entailment checker that a spec names.

    Raises:
        SpecError: no checker has this spec; the message names those there are.
    """
    make = CHECKERS.get(spec.strip())
    if make is None:
        raise SpecError(f"entailment checker {spec!r} is unknown; use one of: {', '.join(CHECKERS)}")
    return make()
