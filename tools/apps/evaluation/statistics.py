"""Means with intervals, and paired comparisons; seeded, so that the same numbers give the same figures."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
_SEED = 20_240_404
_BLOCK = 2_000_000
"""Numbers held at a time while resampling."""


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


def bootstrap(values: Sequence[float], *, resamples: int = RESAMPLES) -> Interval:
    """Estimate the 95 % interval of a mean by the percentile bootstrap (Efron 1979) over questions.

    Args:
        values: one per question; of paired methods, the differences.
        resamples: how many samples are drawn.

    Returns:
        The interval; the value itself for one value.

    Raises:
        ValueError: no values.
    """
    data = np.asarray(values, dtype=np.float64)
    if not data.size:
        raise ValueError("an interval needs at least one value")
    means = np.concatenate([data[draw].mean(axis=1) for draw in _draws(data.size, resamples)])
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(low), float(high))


def _draws(size: int, resamples: int) -> Iterator[NDArray[np.int64]]:
    random = np.random.default_rng(_SEED)
    step = max(1, _BLOCK // size)
    for done in range(0, resamples, step):
        yield random.integers(0, size, (min(step, resamples - done), size))


def permutation_test(differences: Sequence[float], *, resamples: int = RESAMPLES) -> float:
    """Test whether paired differences are zero on average, by random signs (Fisher's paired test).

    Returns:
        The two-sided p-value, with the observed signs counted as one draw, so never 0; 1 where nothing differs.

    Raises:
        ValueError: no differences.
    """
    data = np.asarray(differences, dtype=np.float64)
    if not data.size:
        raise ValueError("a test needs at least one pair")
    data = data[data != 0]
    if not data.size:
        return 1.0
    random = np.random.default_rng(_SEED)
    observed = abs(data.sum()) - 1e-9
    step, extreme = max(1, _BLOCK // data.size), 0
    for done in range(0, resamples, step):
        signs = random.integers(0, 2, (min(step, resamples - done), data.size)) * 2 - 1
        extreme += int((np.abs(signs @ data) >= observed).sum())
    return (extreme + 1) / (resamples + 1)
