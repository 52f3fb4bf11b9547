"""Seeded confidence intervals, tests and sample sizes, over questions or over clusters of dependent questions."""

from collections.abc import Hashable, Sequence
from itertools import accumulate
from statistics import NormalDist, fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion

RESAMPLES = 10_000
_SEED = 20_240_404
_BLOCK = 2_000_000  # numbers in memory at a time while resampling
_LEVEL = 0.05
_Z = NormalDist().inv_cdf(1 - _LEVEL / 2)

Array = NDArray[np.float64]


class Interval(NamedTuple):
    """A 95 % confidence interval."""

    low: float
    high: float


def bootstrap(values: Sequence[float]) -> Interval:
    """Return the 95 % interval of a mean by the percentile bootstrap (Efron 1979) over at least one question."""
    data = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(_SEED)
    means = [data[random.integers(0, data.size, (n, data.size))].mean(axis=1) for n in _blocks(data.size, RESAMPLES)]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return Interval(float(low), float(high))


def bootstrap_ratio(parts: Sequence[tuple[float, float]]) -> Interval | None:
    """Return the 95 % bootstrap interval of a ratio of sums, given (numerator, denominator) per question.

    Resamples without a positive denominator are left out; None if all are.
    """
    ratios = _resampled_ratios(np.asarray(parts, dtype=np.float64).reshape(-1, 2))
    if not len(ratios):
        return None
    low, high = np.percentile(ratios, [2.5, 97.5])
    return Interval(float(low), float(high))


def cluster_bootstrap(values: Sequence[float], clusters: Sequence[int]) -> Interval | None:
    """Return the 95 % cluster bootstrap interval of a mean; `clusters` has each value's cluster. None for one cluster.

    As percentiles are too narrow for few clusters, the ends are moved away from the mean by the ratio of a t interval
    to a normal one without Bessel's correction (Hesterberg 2015, The American Statistician 69(4), section 5.3).
    """
    sums, sizes = _cluster_sums(values, clusters)
    count = sums.size
    if count < 2:
        return None
    means = _resampled_ratios(np.stack([sums, sizes], axis=1))
    mean = fmean(values)
    widened = (count / (count - 1)) ** 0.5 * (1 + (_Z**2 + 1) / (4 * (count - 1)))  # t by Cornish and Fisher (1938)
    low, high = (mean + widened * (float(end) - mean) for end in np.percentile(means, [2.5, 97.5]))
    return Interval(low, high)


def permutation_test(differences: Sequence[float], *, resamples: int = RESAMPLES) -> float:
    """Return the two-sided p-value of a paired permutation test (Fisher's sign flipping) on at least one difference.

    The observed signs count as one resample, so p is never 0; it is 1 if all differences are 0.
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


def cluster_permutation_test(differences: Sequence[float], clusters: Sequence[int]) -> float:
    """Return the p-value of `permutation_test` with one sign per cluster."""
    return permutation_test(_cluster_sums(differences, clusters)[0].tolist())


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple comparisons (Holm 1979), in the same order."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = accumulate((min(1.0, p_values[at] * (len(order) - rank)) for rank, at in enumerate(order)), max)
    corrected = dict(zip(order, adjusted, strict=True))
    return [corrected[at] for at in range(len(order))]


def questions_needed(differences: Sequence[float], clusters: Sequence[int], power: float = 0.8) -> float | None:
    """Return the sample size needed to detect a pilot's mean difference at p < 0.05 with this power.

    By the normal approximation, with the variance between clusters. None if the pilot's mean difference is 0, or it has
    fewer than two clusters.
    """
    sums, sizes = _cluster_sums(differences, clusters)
    mean = fmean(differences)
    if sums.size < 2 or abs(mean) < 1e-9:
        return None
    variance = float(((sums - mean * sizes) ** 2).sum() / sizes.sum()) * sums.size / (sums.size - 1)
    return variance * (_Z + NormalDist().inv_cdf(power)) ** 2 / mean**2


def find_clusters(questions: Sequence[EvalQuestion]) -> list[int]:
    """Return each question's cluster number; questions that share a gold passage, or a hop with its answer, are linked.

    Passages are identified by id if available, else by title. Clusters are transitive: linked questions, and those
    linked to them, form one. A question without links is a cluster by itself.
    """
    owner: dict[Hashable, int] = {}
    parent = list(range(len(questions)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = at = parent[parent[at]]
        return at

    for number, question in enumerate(questions):
        hops = ((hop.question, hop.answer) for hop in question.hops if hop.answer)
        for shared in (*(question.gold or question.gold_titles), *hops):
            parent[root(number)] = root(owner.setdefault(shared, number))
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(at), len(numbers)) for at in range(len(questions))]


def _cluster_sums(values: Sequence[float], clusters: Sequence[int]) -> tuple[Array, Array]:
    """Return the sum and the size of each cluster."""
    _, places = np.unique(clusters, return_inverse=True)
    return np.bincount(places, weights=values).astype(np.float64), np.bincount(places).astype(np.float64)


def _resampled_ratios(parts: Array) -> Array:
    """Resample rows of (numerator, denominator); return the ratios of their sums with a positive denominator."""
    random = np.random.default_rng(_SEED)
    sums = [parts[random.integers(0, len(parts), (n, len(parts)))].sum(axis=1) for n in _blocks(parts.size, RESAMPLES)]
    drawn = np.concatenate(sums) if parts.size else parts
    positive = drawn[drawn[:, 1] > 0]
    return positive[:, 0] / positive[:, 1]


def _blocks(size: int, resamples: int) -> list[int]:
    """Split resamples of `size` values into blocks that fit in memory."""
    step = max(1, _BLOCK // max(size, 1))
    return [min(step, resamples - done) for done in range(0, resamples, step)]
