"""Scores for abstentions and for stated confidence: verdicts, and calibration."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from hopgraph.tools.apps.evaluation.batch.scores import PerQuestion
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts of each question, as shares of its repeats."""

    right: list[float]
    """Right by the judge, if any, else by exact match; for unanswerable questions, abstained."""
    wrong: list[float]
    """Answered wrongly, or failed."""
    not_attempted: list[float]
    """Abstained on an answerable question."""
    abstained: list[float]
    """Not answered, without a failure."""
    unanswerable: list[bool]

    @property
    def right_of_attempted(self) -> float | None:
        """The share of attempted answerable questions that is right; None without attempts."""
        right, wrong = (_sum_of(each, self.unanswerable, False) for each in (self.right, self.wrong))
        return right / (right + wrong) if right + wrong else None

    @property
    def f_score(self) -> float | None:
        """The harmonic mean of the shares right of all and of attempted answerable questions; None without attempts.

        SimpleQA: Wei et al. 2024, arXiv:2411.04368.
        """
        attempted, n = self.right_of_attempted, self.unanswerable.count(False)
        if attempted is None:
            return None
        overall = _sum_of(self.right, self.unanswerable, False) / n
        return 2 * overall * attempted / (overall + attempted) if overall + attempted else 0.0

    @property
    def abstention_precision(self) -> float | None:
        """The share of abstentions that are on unanswerable questions; None without abstentions or such questions.

        Like the precision of "no answer" in SQuAD 2.0 (Rajpurkar et al. 2018, arXiv:1806.03822).
        """
        total = sum(self.abstained)
        return _sum_of(self.abstained, self.unanswerable, True) / total if total and any(self.unanswerable) else None

    @property
    def abstention_recall(self) -> float | None:
        """The share of unanswerable questions on which it abstains; None without such questions."""
        n = self.unanswerable.count(True)
        return _sum_of(self.abstained, self.unanswerable, True) / n if n else None


def _sum_of(values: Iterable[float], unanswerable: Iterable[bool], wanted: bool) -> float:
    return sum(value for value, each in zip(values, unanswerable, strict=True) if each is wanted)


def judge_verdicts(rows: PerQuestion, questions: Mapping[str, EvalQuestion]) -> Verdicts:
    """Return the verdicts of a method's finished questions, except those whose answers are unknown."""
    found = Verdicts([], [], [], [], [])
    for name, row in rows.items():
        answers = questions[name].answers
        if answers is None:
            continue
        right, abstained = row.get("judged", row["em"]), 1.0 - row["answered"] - row["failed"]
        found.right.append(right)
        found.not_attempted.append(abstained if answers else 0.0)
        found.wrong.append(1.0 - right - found.not_attempted[-1])
        found.abstained.append(abstained)
        found.unanswerable.append(not answers)
    return found


LEVELS = 5


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of answers with stated confidence; every value is None without answers."""

    answers: Sequence[tuple[int, bool]]
    """(confidence from 1 to 5, whether the answer is right)."""

    @property
    def levels(self) -> dict[int, tuple[int, float]]:
        """Confidence → (number of answers, share right), without empty levels."""
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
        """The Brier score: mean squared difference between the same probability and correctness (Brier 1950)."""
        return fmean((_probability(level) - right) ** 2 for level, right in self.answers) if self.answers else None

    @property
    def auroc(self) -> float | None:
        """The probability that a right answer has higher confidence than a wrong one, with ties counting half.

        Unlike the others it depends only on the order of confidences (Fawcett 2006). None unless there are both kinds.
        """
        right, wrong = ([level for level, each in self.answers if each is kind] for kind in (True, False))
        if not right or not wrong:
            return None
        counts = [(right.count(level), wrong.count(level)) for level in range(1, LEVELS + 1)]
        above = sum(n * (sum(low for _, low in counts[:at]) + same / 2) for at, (n, same) in enumerate(counts))
        return above / (len(right) * len(wrong))


def _probability(level: int) -> float:
    return (level - 1) / (LEVELS - 1)
