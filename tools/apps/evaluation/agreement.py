"""How far two judges agree on yes or no."""

from collections.abc import Sequence
from typing import NamedTuple


class Agreement(NamedTuple):
    """Two judges on the same cases."""

    n: int
    accuracy: float
    """Share of the cases on which they say the same."""
    kappa: float | None
    """Cohen's kappa (1960): agreement beyond that of chance; None where chance alone agrees always, as it does
    when both always say the same thing."""


def measure_agreement(pairs: Sequence[tuple[bool, bool]]) -> Agreement:
    """Compare two judges.

    Args:
        pairs: what each of them says of a case; at least one.

    Raises:
        ValueError: no case.
    """
    if not pairs:
        raise ValueError("agreement needs at least one case")
    n = len(pairs)
    same = sum(one == other for one, other in pairs) / n
    first, second = (sum(column) / n for column in zip(*pairs, strict=True))
    chance = first * second + (1 - first) * (1 - second)
    return Agreement(n, same, None if chance == 1.0 else (same - chance) / (1 - chance))
