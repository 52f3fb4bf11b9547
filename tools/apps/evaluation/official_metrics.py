"""The metrics of the scripts that HotpotQA, 2WikiMultihopQA and MuSiQue have, reimplemented from their definitions.

Answers and supporting facts are scored by themselves and together; here an answer of which normalisation leaves nothing
is what the scripts make of it, unlike in `metrics`. 2WikiMultihopQA's joint scores also multiply those of evidence
triples, which no method here gives; ours are HotpotQA's, of answer and facts.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
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


def _agree(em: float, precision: float, recall: float) -> Agreement:
    both = precision + recall
    return Agreement(em, 2 * precision * recall / both if both else 0.0, precision, recall)


def _overlap(predicted: Iterable[Hashable], gold: Iterable[Hashable], *, empty_f1: float) -> Agreement:
    """Compare collections whose entries may occur several times; precision and recall are 0 of an empty side.

    `empty_f1` is the F1 of nothing predicted where there is nothing: 0 by HotpotQA's script (Yang et al. 2018,
    arXiv:1809.09600), 1 by MuSiQue's (Trivedi et al. 2022, arXiv:2108.00573).
    """
    own, right = Counter(predicted), Counter(gold)
    if not own and not right:
        return Agreement(1.0, empty_f1, 0.0, 0.0)
    shared = (own & right).total()
    return _agree(float(own == right), shared / max(own.total(), 1), shared / max(right.total(), 1))


def _compare_answers(predicted: PredictedAnswer, gold: PredictedAnswer, *, musique: bool) -> Agreement:
    """Take the best of each value over the gold answers; a closed answer matches whole, but in MuSiQue."""
    said, each = normalize_answer(predicted.answers[0]), list[Agreement]()
    for right in map(normalize_answer, gold.answers):
        if said != right and not musique and not _CLOSED.isdisjoint({said, right}):
            each.append(Agreement(0.0, 0.0, 0.0, 0.0))
        else:
            overlap = _overlap(said.split(), right.split(), empty_f1=float(musique))
            each.append(overlap._replace(em=float(said == right)))
    return Agreement(*map(max, zip(*each, strict=True)))


def _wiki_facts(predicted: PredictedAnswer, gold: PredictedAnswer) -> Agreement:
    """Compare facts whose titles may differ in case; facts that differ in nothing else count each."""
    own, right = ([(title.lower(), number) for title, number in set(each.facts)] for each in (predicted, gold))
    hits, missed = sum(each in right for each in own), sum(each not in own for each in right)
    return _agree(float(hits == len(own) and not missed), hits / max(len(own), 1), hits / max(hits + missed, 1))


def _score_hotpot(predicted: PredictedAnswer, gold: PredictedAnswer, *, wiki: bool) -> dict[str, float]:
    """Score one prediction as HotpotQA's script does, or 2WikiMultihopQA's."""
    answer = _compare_answers(predicted, gold, musique=False)
    facts = _wiki_facts(predicted, gold) if wiki else _overlap(set(predicted.facts), set(gold.facts), empty_f1=0.0)
    joint = _agree(answer.em * facts.em, answer.precision * facts.precision, answer.recall * facts.recall)
    parts = {"": answer, "sp_": facts, "joint_": joint}
    return {f"{part}{name}": value for part, each in parts.items() for name, value in each._asdict().items()}


def _score_musique(predicted: PredictedAnswer, gold: PredictedAnswer) -> dict[str, float]:
    answer = _compare_answers(predicted, gold, musique=True)
    support = _overlap(set(predicted.facts), set(gold.facts), empty_f1=1.0)
    return {"answer_em": answer.em, "answer_f1": answer.f1, "support_em": support.em, "support_f1": support.f1}


def score_all(script: Script, rows: Sequence[tuple[str, PredictedAnswer, PredictedAnswer]]) -> dict[str, list[float]]:
    """Score (question's id, prediction, gold) as a data set's script does; return the values of each metric.

    MuSiQue's answers and support over the answerable questions. Of an id that is there twice, once answerable and once
    not, they also count together: 0 unless both are recognized for what they are (Full edition). Without such an id, no
    such metric.
    """
    values: dict[str, list[float]] = defaultdict(list)
    pairs: dict[str, list[tuple[PredictedAnswer, PredictedAnswer]]] = defaultdict(list)
    musique = script == "musique"
    for name, predicted, gold in rows:
        pairs[name].append((predicted, gold))
        if gold.answerable or not musique:
            wiki = script == "2wikimultihopqa"
            scores = _score_musique(predicted, gold) if musique else _score_hotpot(predicted, gold, wiki=wiki)
            for metric, value in scores.items():
                values[metric].append(value)
    for both in pairs.values() if musique else ():
        if sorted(gold.answerable for _, gold in both) == [False, True]:
            right = all(predicted.answerable == gold.answerable for predicted, gold in both)
            scores = next(_score_musique(*each) for each in both if each[1].answerable)
            values["sufficiency"].append(float(right))
            values["group_answer_sufficiency_f1"].append(scores["answer_f1"] * right)
            values["group_support_sufficiency_f1"].append(scores["support_f1"] * right)
    return dict(values)
