"""Score the outcomes of a run, question by question."""

from collections.abc import Sequence

from hopgraph.state import Citation
from hopgraph.tools.apps.evaluation.batch.run_directory import Outcome
from hopgraph.tools.apps.evaluation.batch.run_manifest import GoldBy
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import (
    COVER_EM,
    EXACT_MATCH,
    F1,
    PRECISION,
    RECALL,
    S_PRECISION,
    recall_at,
)

_ANSWER_SCORES = {"em": EXACT_MATCH, "f1": F1, "acc": COVER_EM}
"""Names in a summary to metrics; `acc` is the papers' cover exact match."""
_RANKING_SCORES = (*(recall_at(k) for k in (2, 5, 10, 15)), PRECISION, S_PRECISION)


def score_outcome(outcome: Outcome, question: EvalQuestion, gold_by: GoldBy) -> dict[str, float]:
    """Score one outcome, with the gold passages recognized among the retrieved ones by `gold_by`.

    Returns:
        Answer scores where the data set has answers; retrieval scores where it has gold passages, over the passages
        that the answer was given, however few; scores of quotes where it has supporting sentences. Each in
        [0, 1]. A failure scores 0 everywhere, a blank answer to an unanswerable question 1 (the empty cases
        of the metrics).
    """
    found: dict[str, float] = {}
    if question.answers is not None:
        for name, metric in _ANSWER_SCORES.items():
            found[name] = 0.0 if outcome["error"] else metric(outcome["answer"], question.answers)
        grounded = _is_grounded(outcome, question, gold_by)
        found |= {f"grounded_{name}": found[name] * grounded for name in ("em", "f1")}
    if gold := gold_names(question, gold_by):
        ranked = retrieved_names(outcome, gold_by)
        found |= {metric.name: metric(ranked, gold) for metric in _RANKING_SCORES}
    return {**found, **_sentence_scores(outcome["citations"], question, gold_by)}


def gold_names(question: EvalQuestion, gold_by: GoldBy) -> Sequence[str]:
    """Return the gold passages as this corpus names them; empty where it does not."""
    return {"ids": question.gold, "titles": question.gold_titles, "none": ()}[gold_by]


def retrieved_names(outcome: Outcome, gold_by: GoldBy) -> Sequence[str]:
    """Name what was retrieved as gold passages are named in this corpus, best first."""
    return outcome["titles"] if gold_by == "titles" else outcome["retrieved"]


def _is_grounded(outcome: Outcome, question: EvalQuestion, gold_by: GoldBy) -> bool:
    """Whether an answer's citations support it.

    They do when one of them is a gold passage; without gold passages, when the entailment checker said so. To a
    question without an answer, none is grounded.
    """
    if not outcome["answer"]:
        return not outcome["error"] and not question.answers
    gold = gold_names(question, gold_by)
    if not gold:
        return bool(outcome["supported"])
    cited = [each for each in outcome["citations"] if each["kind"] == "passage"]
    return any((each["title"] if gold_by == "titles" else each["passage_id"]) in gold for each in cited)


def _sentence_scores(citations: Sequence[Citation], question: EvalQuestion, gold_by: GoldBy) -> dict[str, float]:
    """Score quotes against the supporting sentences (METHODS, Metrics; HotpotQA's supporting facts).

    A quote and a gold sentence of the same passage are the same when one of them lies within the other, white
    space apart: the data sets split sentences in other places than we do. A quote over two gold
    sentences finds both. Empty where the data set has no sentences, or the corpus does not know the gold passages.
    """
    if not question.sentences or gold_by == "none":
        return {}
    gold = [str(number) for number in range(len(question.sentences))]
    cited = [
        name for each in citations if each["kind"] == "passage" for name in _quoted_sentences(each, question, gold_by)
    ]
    return {"sentence_precision": PRECISION(cited, gold), "sentence_recall": RECALL(cited, gold)}


def _quoted_sentences(citation: Citation, question: EvalQuestion, gold_by: GoldBy) -> list[str]:
    """Name the gold sentences that a quote holds by their numbers; a quote that holds none by itself."""
    quote = " ".join(citation["quote"].split())
    titles = {each.id: each.title for each in question.contexts}
    found: list[str] = []
    for number, sentence in enumerate(question.sentences):
        text = " ".join(sentence.text.split())
        if gold_by == "ids":
            same = sentence.passage_id == citation["passage_id"]
        else:
            same = titles.get(sentence.passage_id) == citation["title"]
        if same and quote and text and (quote in text or text in quote):
            found.append(str(number))
    return found or [f"{citation['passage_id']}\n{quote}"]
