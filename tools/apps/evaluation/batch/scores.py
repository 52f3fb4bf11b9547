"""Score the outcomes of a run, question by question."""

from collections.abc import Mapping, Sequence

from hopgraph.tools.apps.evaluation.batch.gold_sentences import sentence_scores
from hopgraph.tools.apps.evaluation.batch.outcome import Outcome
from hopgraph.tools.apps.evaluation.batch.run_manifest import GoldBy
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import (
    COVER_EM,
    EXACT_MATCH,
    F1,
    PRECISION,
    S_PRECISION,
    recall_at,
)

RECALLS = tuple(recall_at(k) for k in (2, 5, 10, 15))
ANSWER_SCORES = {"em": EXACT_MATCH, "f1": F1, "acc": COVER_EM}
"""Names in a summary to metrics; `acc` is the papers' cover exact match."""
GROUNDED = {"grounded_em": "em", "grounded_f1": "f1"}

Scores = Mapping[str, float]


def score_outcome(outcome: Outcome, question: EvalQuestion, gold_by: GoldBy) -> dict[str, float]:
    """Score one outcome.

    Args:
        outcome: what came of it; a failure has blank answers and no passages.
        question: with its gold answers and passages.
        gold_by: how gold passages are told among the retrieved ones.

    Returns:
        Answer scores where the data set tells answers; retrieval scores where it tells gold passages, over what
        the answer was given, however few passages that are; scores of quotes where it tells sentences. Each in
        [0, 1]. A failure scores 0 everywhere, a blank answer to an unanswerable question 1 (the empty cases
        of the metrics).
    """
    found: dict[str, float] = {}
    failed = bool(outcome["error"])
    if question.answers is not None:
        for name, metric in ANSWER_SCORES.items():
            found[name] = 0.0 if failed else metric(outcome["answer"], question.answers)
        grounded = is_grounded(outcome, question, gold_by)
        found.update({name: found[base] * grounded for name, base in GROUNDED.items()})
    gold = gold_names(question, gold_by)
    if gold:
        ranked = _names(outcome["retrieved"], outcome["titles"], gold_by)
        found.update({metric.name: metric(ranked, gold) for metric in RECALLS})
        found.update({metric.name: metric(ranked, gold) for metric in (PRECISION, S_PRECISION)})
    return {**found, **sentence_scores(outcome["citations"], question, gold_by)}


def is_grounded(outcome: Outcome, question: EvalQuestion, gold_by: GoldBy) -> bool:
    """Tell whether an answer's citations hold it up.

    They do when one of them is a gold passage; without gold passages, when the entailment checker said so. No
    answer to a question that has none is held up by nothing else.
    """
    if not outcome["answer"]:
        return not outcome["error"] and not question.answers
    gold = gold_names(question, gold_by)
    if not gold:
        return bool(outcome["supported"])
    cited = [each for each in outcome["citations"] if each["kind"] == "passage"]
    names = _names([each["passage_id"] for each in cited], [each["title"] for each in cited], gold_by)
    return not frozenset(names).isdisjoint(gold)


def gold_names(question: EvalQuestion, gold_by: GoldBy) -> Sequence[str]:
    """Name the gold passages as they are told in this corpus; empty where they are not."""
    return {"ids": question.gold, "titles": question.gold_titles, "none": ()}[gold_by]


def _names(ids: Sequence[str], titles: Sequence[str], gold_by: GoldBy) -> Sequence[str]:
    return titles if gold_by == "titles" else ids
