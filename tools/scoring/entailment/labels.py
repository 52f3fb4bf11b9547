"""Which of a classifier's labels says that the premise entails the hypothesis."""

from collections.abc import Sequence

_POSITIVE = frozenset({"entailment", "entails", "entailed", "entail", "supported", "supports", "support", "consistent"})
"""Names that models give it, in lower case: MNLI, ANLI, FEVER, summary checkers."""


def entailing_label(labels: Sequence[str], wanted: str | None = None) -> int:
    """Return the position of the label for entailment.

    Args:
        labels: in the order of the model's scores.
        wanted: the label's name where the user gave it.

    Raises:
        ValueError: no label means entailment, or several do; the message lists them.
    """
    names = [_normalized(label) for label in labels]
    positive = {_normalized(wanted)} if wanted else _POSITIVE
    found = [index for index, name in enumerate(names) if name in positive]
    if len(found) != 1:
        raise ValueError(f"{'no' if not found else 'more than one'} label says entailment: {', '.join(labels)}")
    return found[0]


def _normalized(label: str) -> str:
    return label.strip().casefold().replace("-", "_")
