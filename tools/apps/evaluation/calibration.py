"""How well the confidence that a model states, from 1 to 5, says whether its answer is right."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

LEVELS = 5


@dataclass(frozen=True, slots=True)
class Calibration:
    """Answers with their confidence and whether each is right; every value is None without answers."""

    answers: Sequence[tuple[int, bool]]
    """(confidence from 1 to 5, whether the answer is right)."""

    @property
    def levels(self) -> dict[int, tuple[int, float]]:
        """Confidence → how many answers have it, and which share of them is right; levels without answers left out."""
        by_level: dict[int, list[bool]] = defaultdict(list)
        for level, right in self.answers:
            by_level[level].append(right)
        return {level: (len(each), fmean(each)) for level, each in sorted(by_level.items())}

    @property
    def expected_error(self) -> float | None:
        """The expected calibration error, with a bin for each level and 1 to 5 as 0, 0.25 … 1 (Guo et al. 2017).

        arXiv:1706.04599, section 2.
        """
        if not self.answers:
            return None
        gaps = (n * abs(share - _probability(level)) for level, (n, share) in self.levels.items())
        return sum(gaps) / len(self.answers)

    @property
    def brier(self) -> float | None:
        """The mean squared difference of the same probability and being right (Brier 1950)."""
        return fmean((_probability(level) - right) ** 2 for level, right in self.answers) if self.answers else None

    @property
    def auroc(self) -> float | None:
        """Return how often a right answer has more confidence than a wrong one, ties half; None if all are of one kind.

        Unlike the others it takes the confidence as an order alone (Fawcett 2006).
        """
        right, wrong = ([level for level, each in self.answers if each is kind] for kind in (True, False))
        if not right or not wrong:
            return None
        counts = [(right.count(level), wrong.count(level)) for level in range(1, LEVELS + 1)]
        above = sum(n * (sum(low for _, low in counts[:at]) + same / 2) for at, (n, same) in enumerate(counts))
        return above / (len(right) * len(wrong))


def _probability(level: int) -> float:
    return (level - 1) / (LEVELS - 1)
