"""Means with intervals, paired comparisons, and agreement; seeded, so that the same numbers give the same figures."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 10_000
_SEED = 20_240_404
_BLOCK = 2_000_000
"""Numbers held at a time while resampling."""


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


def bootstrap(values: Sequence[float]) -> Interval:
    """Estimate the 95 % interval of a mean by the percentile bootstrap (Efron 1979) over questions, at least one."""
    data = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(_SEED)
    means = [data[random.integers(0, data.size, (n, data.size))].mean(axis=1) for n in _blocks(data.size, RESAMPLES)]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return Interval(float(low), float(high))


def permutation_test(differences: Sequence[float], *, resamples: int = RESAMPLES) -> float:
    """Test whether paired differences, at least one, are zero on average, by random signs (Fisher's paired test).

    The two-sided p-value counts the observed signs as one draw, so it is never 0; it is 1 where nothing differs.
    """
    data = np.asarray([value for value in differences if value], dtype=np.float64)
    if not data.size:
        return 1.0
    random = np.random.default_rng(_SEED)
    observed = abs(data.sum()) - 1e-9
    extreme = 0
    for n in _blocks(data.size, resamples):
        signs = random.integers(0, 2, (n, data.size)) * 2 - 1
        extreme += int((np.abs(signs @ data) >= observed).sum())
    return (extreme + 1) / (resamples + 1)


def _blocks(size: int, resamples: int) -> list[int]:
    """Split resamples of so many values into blocks that fit in memory."""
    step = max(1, _BLOCK // size)
    return [min(step, resamples - done) for done in range(0, resamples, step)]


class Agreement(NamedTuple):
    """The agreement of two judges on the same cases."""

    n: int
    accuracy: float
    """Share of the cases on which they agree."""
    kappa: float | None
    """Cohen's kappa (1960): agreement beyond chance; None where chance agreement is complete, as when
    both always give the same verdict."""


def measure_agreement(pairs: Sequence[tuple[bool, bool]]) -> Agreement:
    """Compare two judges by their verdicts on at least one case."""
    n = len(pairs)
    same = sum(one == other for one, other in pairs) / n
    first, second = (sum(column) / n for column in zip(*pairs, strict=True))
    chance = first * second + (1 - first) * (1 - second)
    return Agreement(n, same, None if chance == 1.0 else (same - chance) / (1 - chance))
