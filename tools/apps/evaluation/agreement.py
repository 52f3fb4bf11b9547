"""Agreement of two judges on yes or no."""

from collections.abc import Sequence
from typing import NamedTuple


class Agreement(NamedTuple):
    """Two judges on the same cases."""

    n: int
    accuracy: float
    """Share of the cases on which they agree."""
    kappa: float | None
    """Cohen's kappa (1960): agreement beyond chance; None where chance agreement is complete, as when
    both always give the same verdict."""


def measure_agreement(pairs: Sequence[tuple[bool, bool]]) -> Agreement:
    """Compare two judges.

    Args:
        pairs: the verdict of each on a case; at least one.

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
