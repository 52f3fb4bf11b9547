"""The metrics of the scripts that HotpotQA, 2WikiMultihopQA and MuSiQue have, reimplemented from their definitions.

Answers and supporting facts are scored by themselves and together; here an answer of which normalisation leaves nothing
is what the scripts make of it, unlike in `metrics`. 2WikiMultihopQA's joint scores also multiply those of evidence
triples, which no method here gives; ours are HotpotQA's, of answer and facts.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from hopgraph.tools.text.comparison import normalize_answer

Script = Literal["hotpotqa", "2wikimultihopqa", "musique"]
SCRIPTS: tuple[Script, ...] = get_args(Script)
"""Whose script it is, named as the format of its file."""
SupportingFact = tuple[str, int]
"""A title and the number of a sentence from 0; of MuSiQue no title, and the number of a paragraph."""
_CLOSED = frozenset({"yes", "no", "noanswer"})


class PredictedAnswer(NamedTuple):
    """An input of a script: a prediction, or the gold annotation of a question."""

    answers: tuple[str, ...]
    """One answer of a prediction (empty for none), or the gold answer with its aliases."""
    facts: tuple[SupportingFact, ...]
    answerable: bool = True
    """True if the paragraphs are sufficient to answer (MuSiQue)."""


class Agreement(NamedTuple):
    """How a prediction agrees with the gold; each value in [0, 1]."""

    em: float
    f1: float
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class OverlapMetric:
    """Exact match, precision, recall and F1 of two collections; precision and recall are 0 of an empty side."""

    empty: Agreement
    """Where both are empty."""

    def __call__(self, predicted: Counter[Hashable], gold: Counter[Hashable]) -> Agreement:
        """Compare two collections whose entries may occur several times."""
        if not predicted and not gold:
            return self.empty
        shared = (predicted & gold).total()
        return _agree(float(predicted == gold), shared / max(predicted.total(), 1), shared / max(gold.total(), 1))


def _agree(em: float, precision: float, recall: float) -> Agreement:
    both = precision + recall
    return Agreement(em, 2 * precision * recall / both if both else 0.0, precision, recall)


HOTPOT_OVERLAP = OverlapMetric(Agreement(1.0, 0.0, 0.0, 0.0))
"""Nothing predicted where there is nothing equals it, but has no F1 (HotpotQA: Yang et al. 2018, arXiv:1809.09600)."""
MUSIQUE_OVERLAP = OverlapMetric(Agreement(1.0, 1.0, 0.0, 0.0))
"""Nothing predicted where there is nothing is right (MuSiQue: Trivedi et al. 2022, arXiv:2108.00573)."""


def _hotpot_answer(predicted: str, gold: str) -> Agreement:
    one, other = normalize_answer(predicted), normalize_answer(gold)
    if one != other and not _CLOSED.isdisjoint({one, other}):
        return Agreement(0.0, 0.0, 0.0, 0.0)
    return HOTPOT_OVERLAP(Counter(one.split()), Counter(other.split()))._replace(em=float(one == other))


def _musique_answer(predicted: str, gold: str) -> Agreement:
    one, other = normalize_answer(predicted), normalize_answer(gold)
    return MUSIQUE_OVERLAP(Counter(one.split()), Counter(other.split()))._replace(em=float(one == other))


def _best(predicted: PredictedAnswer, gold: PredictedAnswer, compare: Callable[[str, str], Agreement]) -> Agreement:
    """Take the best of each value over the gold answers."""
    each = [compare(predicted.answers[0], answer) for answer in gold.answers]
    return Agreement(*(max(values) for values in zip(*each, strict=True)))


def _hotpot_facts(predicted: PredictedAnswer, gold: PredictedAnswer) -> Agreement:
    return HOTPOT_OVERLAP(Counter(set(predicted.facts)), Counter(set(gold.facts)))


def _wiki_facts(predicted: PredictedAnswer, gold: PredictedAnswer) -> Agreement:
    """Compare facts whose titles may differ in case; facts that differ in nothing else count each."""
    own, right = ([(title.lower(), number) for title, number in set(each.facts)] for each in (predicted, gold))
    hits, missed = sum(each in right for each in own), sum(each not in own for each in right)
    return _agree(float(hits == len(own) and not missed), hits / max(len(own), 1), hits / max(hits + missed, 1))


def _musique_facts(predicted: PredictedAnswer, gold: PredictedAnswer) -> Agreement:
    return MUSIQUE_OVERLAP(Counter(set(predicted.facts)), Counter(set(gold.facts)))


def score_hotpot(
    predicted: PredictedAnswer, gold: PredictedAnswer, *, titles_in_lower_case: bool = False
) -> dict[str, float]:
    """Score one prediction as HotpotQA's script does; with `titles_in_lower_case` as 2WikiMultihopQA's."""
    answer = _best(predicted, gold, _hotpot_answer)
    facts = (_wiki_facts if titles_in_lower_case else _hotpot_facts)(predicted, gold)
    joint = _agree(answer.em * facts.em, answer.precision * facts.precision, answer.recall * facts.recall)
    parts = {"": answer, "sp_": facts, "joint_": joint}
    return {f"{part}{name}": value for part, each in parts.items() for name, value in each._asdict().items()}


def score_musique(rows: Iterable[tuple[str, PredictedAnswer, PredictedAnswer]]) -> dict[str, list[float]]:
    """Score (question's id, prediction, gold) as MuSiQue's script does; return the values of each metric.

    Answers and support over the answerable questions. Of an id that is there twice, once answerable and once not, they
    also count together: 0 unless both are recognized for what they are (Full edition). Without such an id, no such
    metric.
    """
    values: dict[str, list[float]] = defaultdict(list)
    pairs: dict[str, list[tuple[PredictedAnswer, PredictedAnswer]]] = defaultdict(list)
    for name, predicted, gold in rows:
        pairs[name].append((predicted, gold))
        if gold.answerable:
            for metric, value in _musique_scores(predicted, gold).items():
                values[metric].append(value)
    for both in pairs.values():
        if sorted(gold.answerable for _, gold in both) == [False, True]:
            right = all(predicted.answerable == gold.answerable for predicted, gold in both)
            scores = next(_musique_scores(*each) for each in both if each[1].answerable)
            values["sufficiency"].append(float(right))
            values["group_answer_sufficiency_f1"].append(scores["answer_f1"] * right)
            values["group_support_sufficiency_f1"].append(scores["support_f1"] * right)
    return dict(values)


def _musique_scores(predicted: PredictedAnswer, gold: PredictedAnswer) -> dict[str, float]:
    answer, support = _best(predicted, gold, _musique_answer), _musique_facts(predicted, gold)
    return {"answer_em": answer.em, "answer_f1": answer.f1, "support_em": support.em, "support_f1": support.f1}


def score_all(script: Script, rows: Sequence[tuple[str, PredictedAnswer, PredictedAnswer]]) -> dict[str, list[float]]:
    """Score (question's id, prediction, gold) as a data set's script does; return the values of each metric."""
    if script == "musique":
        return score_musique(rows)
    values: dict[str, list[float]] = defaultdict(list)
    for _, predicted, gold in rows:
        scores = score_hotpot(predicted, gold, titles_in_lower_case=script == "2wikimultihopqa")
        for metric, value in scores.items():
            values[metric].append(value)
    return dict(values)
