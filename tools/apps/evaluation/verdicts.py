"""Scores of methods that may abstain: right, wrong or not attempted, and when they abstain."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hopgraph.tools.apps.evaluation.batch.scores import PerQuestion
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The shares of verdicts by question; of several repeats each question has the mean."""

    right: list[float]
    """Share right, by the judge if there is one, else by exact match; for unanswerable questions, by abstaining."""
    wrong: list[float]
    """An answer that is not right, or a failure."""
    not_attempted: list[float]
    """No answer where there is one."""
    abstained: list[float]
    """No answer, without a failure."""
    unanswerable: list[bool]

    @property
    def right_of_attempted(self) -> float | None:
        """The share of the answers to answerable questions that is right; None without any."""
        right, wrong = (_sum_of(each, self.unanswerable, False) for each in (self.right, self.wrong))
        return right / (right + wrong) if right + wrong else None

    @property
    def f_score(self) -> float | None:
        """The harmonic mean of what is right of all answerable questions and of those attempted; None without attempts.

        SimpleQA: Wei et al. 2024, arXiv:2411.04368.
        """
        attempted, n = self.right_of_attempted, self.unanswerable.count(False)
        if attempted is None:
            return None
        overall = _sum_of(self.right, self.unanswerable, False) / n
        return 2 * overall * attempted / (overall + attempted) if overall + attempted else 0.0

    @property
    def abstention_precision(self) -> float | None:
        """The share of abstentions that are on questions without an answer; None without either.

        As precision of "no answer" in SQuAD 2.0 (Rajpurkar et al. 2018, arXiv:1806.03822).
        """
        total = sum(self.abstained)
        return _sum_of(self.abstained, self.unanswerable, True) / total if total and any(self.unanswerable) else None

    @property
    def abstention_recall(self) -> float | None:
        """The share of questions without an answer on which it abstains; None where each has an answer."""
        n = self.unanswerable.count(True)
        return _sum_of(self.abstained, self.unanswerable, True) / n if n else None


def _sum_of(values: Iterable[float], unanswerable: Iterable[bool], wanted: bool) -> float:
    return sum(value for value, each in zip(values, unanswerable, strict=True) if each is wanted)


def judge_verdicts(rows: PerQuestion, questions: Mapping[str, EvalQuestion]) -> Verdicts:
    """Sort what a method has finished; questions whose answers are unknown are left out."""
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
