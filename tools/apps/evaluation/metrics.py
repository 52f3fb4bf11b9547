"""Metrics of answers and of retrieved passages, each with its source.

EM and F1 are those of HotpotQA's script, over all gold answers, with two deliberate differences from official scripts:
answers that normalization would empty (`A`, `The`, `?`) are compared unnormalized, as they would all be equal; and yes,
no and noanswer match exactly or not at all in every data set, whereas MuSiQue's script gives "no" partial credit for
"no man".
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hopgraph.tools.text.comparison import normalize_answer

_CLOSED_ANSWERS = frozenset({"yes", "no", "noanswer"})


@dataclass(frozen=True, slots=True)
class AnswerMetric:
    """Compares a predicted answer with the gold answers; the best match counts."""

    compare: Callable[[list[str], list[str]], float]
    """(prediction, gold answer) as normalized, non-empty lists of words → a value from 0 to 1."""

    def __call__(self, prediction: str, answers: Sequence[str]) -> float:
        """Score a prediction; without non-blank gold answers only a blank prediction is right."""
        gold = [answer for answer in answers if answer.strip()]
        if not gold or not prediction.strip():
            return float(not gold and not prediction.strip())
        return max(self.compare(*_comparable(prediction, answer)) for answer in gold)


@dataclass(frozen=True, slots=True)
class RankingMetric:
    """Compares ranked ids, best first, with the set of gold ids; a repeated id counts once."""

    name: str
    compare: Callable[[Sequence[str], frozenset[str]], float]
    """(ids in rank order without duplicates, non-empty gold ids) → a value from 0 to 1."""

    def __call__(self, ranked: Sequence[str], gold: Sequence[str]) -> float:
        """Score a ranking from 0 to 1; 1 without gold ids, as nothing is missing."""
        return self.compare(list(dict.fromkeys(ranked)), frozenset(gold)) if gold else 1.0


def _comparable(prediction: str, gold: str) -> tuple[list[str], list[str]]:
    """Return the words of both sides, normalized unless that would leave one of them empty (`A`, `?`)."""
    left, right = normalize_answer(prediction).split(), normalize_answer(gold).split()
    if left and right:
        return left, right
    return prediction.lower().split(), gold.lower().split()


def _token_f1(left: list[str], right: list[str]) -> float:
    if left != right and (" ".join(left) in _CLOSED_ANSWERS or " ".join(right) in _CLOSED_ANSWERS):
        return 0.0
    shared = (Counter(left) & Counter(right)).total()
    # One division, so that the result does not depend on which side is the prediction.
    return 2 * shared / (len(left) + len(right))


EXACT_MATCH = AnswerMetric(lambda left, right: float(left == right))
"""1 if the normalized texts are equal (SQuAD: Rajpurkar et al. 2016, arXiv:1606.05250)."""
F1 = AnswerMetric(_token_f1)
"""Harmonic mean of token precision and recall (SQuAD); a yes, no or noanswer matches exactly or not at all
(HotpotQA: Yang et al. 2018, arXiv:1809.09600)."""
COVER_EM = AnswerMetric(lambda left, right: float(f" {' '.join(right)} " in f" {' '.join(left)} "))
"""1 if the prediction contains the gold answer's tokens consecutively (GenGround: Shi et al. 2024, section 5.3)."""
RECALL = RankingMetric("recall", lambda ranked, gold: len(gold.intersection(ranked)) / len(gold))
"""Share of the gold ids that are retrieved (Manning et al. 2008, section 8.3)."""
PRECISION = RankingMetric("precision", lambda ranked, gold: len(gold.intersection(ranked)) / max(len(ranked), 1))
"""Share of the retrieved ids that are gold; 0 if nothing is retrieved (Manning et al. 2008, section 8.3)."""
S_PRECISION = RankingMetric("s_precision", lambda ranked, gold: float(gold == frozenset(ranked)))
"""1 if the ids are exactly the gold ids; for the passages kept by a filter (BlendFilter: Wang et al. 2024, section
4.1)."""


def best_of(metric: AnswerMetric, predictions: Sequence[str], answers: Sequence[str]) -> float:
    """Return the best score of several sampled answers (BlendFilter, Fig. 4); without samples a blank answer's."""
    return max((metric(prediction, answers) for prediction in predictions), default=metric("", answers))


def recall_at(k: int) -> RankingMetric:
    """Return recall@k: the share of the gold ids among the first k ≥ 1 (Manning et al. 2008, section 8.4)."""
    return RankingMetric(f"recall@{k}", lambda ranked, gold: RECALL.compare(ranked[:k], gold))


ANSWER_SCORES = {"em": EXACT_MATCH, "f1": F1, "acc": COVER_EM}
"""Name in a summary → metric; `acc` is the papers' cover exact match."""
RANKING_SCORES = (*map(recall_at, (2, 5, 10, 15)), PRECISION, S_PRECISION)
