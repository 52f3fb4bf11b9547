"""Which of a classifier's labels says that the premise entails the hypothesis."""

from collections.abc import Sequence

_POSITIVE = frozenset({"entailment", "entails", "entailed", "entail", "supported", "supports", "support", "consistent"})
"""As models name it, in lower case: MNLI, ANLI, FEVER, summary checkers."""


def entailing_label(labels: Sequence[str], wanted: str | None = None) -> int:
    """Find the position of the label that says "entailed".

    Args:
        labels: in the order of the model's scores.
        wanted: the label's name where the user gave it.

    Raises:
        ValueError: none of the labels says it, or several do; it lists them.
    """
    names = [label.strip().casefold().replace("-", "_") for label in labels]
    sought = {wanted.strip().casefold().replace("-", "_")} if wanted else _POSITIVE
    found = [index for index, name in enumerate(names) if name in sought]
    if len(found) != 1:
        raise ValueError(f"{'no' if not found else 'more than one'} label says entailment: {', '.join(labels)}")
    return found[0]
