"""Score the outcomes of a run, and summarize it: per method the means with their intervals, the costs, the failures."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from statistics import fmean, stdev
from typing import Any, cast

from hopgraph.state import Citation
from hopgraph.tools.apps.evaluation.batch.judging import read_judgements
from hopgraph.tools.apps.evaluation.batch.run_directory import GoldBy, Outcome, RunReader
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import ANSWER_SCORES, PRECISION, RANKING_SCORES, RECALL
from hopgraph.tools.apps.evaluation.significance import bootstrap

COSTS = (
    *("llm_calls", "prompt_tokens", "completion_tokens", "knowledge_tokens"),
    *("retrievals", "iterations", "passages", "parse_failures"),
)
"""Per question, from a method's usage; a replayed reply counts as the call that it once was."""
BASE, BOUND = "one_step", "gold_passages"
"""The gap between these is what better retrieval and reasoning can close."""
_NOT_SCORES = frozenset({*COSTS, "depth", "seconds", "failed", "answered", "budget"})

PerQuestion = dict[str, dict[str, float]]
"""Question id → score → its mean over the repeats."""


def score_outcome(outcome: Outcome, question: EvalQuestion, gold_by: GoldBy) -> dict[str, float]:
    """Score one outcome, with the gold passages recognized among the retrieved ones by `gold_by`; all in [0, 1].

    Answer scores where the data set has answers; retrieval scores where it has gold passages, over the passages that
    the answer was given, however few; scores of quotes where it has supporting sentences, and of citations where the
    answer is in sentences. A failure scores 0.
    """
    found: dict[str, float] = {}
    if question.answers is not None:
        for name, metric in ANSWER_SCORES.items():
            found[name] = 0.0 if outcome["error"] else metric(outcome["answer"], question.answers)
        grounded = _is_grounded(outcome, question, gold_by)
        found |= {f"grounded_{name}": found[name] * grounded for name in ("em", "f1")}
    if gold := gold_names(question, gold_by):
        ranked = retrieved_names(outcome, gold_by)
        found |= {metric.name: metric(ranked, gold) for metric in RANKING_SCORES}
    if "citation_recall" in outcome and "citation_precision" in outcome:
        found |= {name: outcome[name] for name in ("citation_recall", "citation_precision")}
    return {**found, **_sentence_scores(outcome["citations"], question, gold_by)}


def gold_names(question: EvalQuestion, gold_by: GoldBy) -> Sequence[str]:
    """Return the gold passages as this corpus names them; empty if it does not."""
    return {"ids": question.gold, "titles": question.gold_titles, "none": ()}[gold_by]


def retrieved_names(outcome: Outcome, gold_by: GoldBy) -> Sequence[str]:
    """Name the retrieved passages as gold passages are named in this corpus, best first."""
    return outcome["titles"] if gold_by == "titles" else outcome["retrieved"]


def _is_grounded(outcome: Outcome, question: EvalQuestion, gold_by: GoldBy) -> bool:
    """Return whether an answer's citations support it: one is a gold passage or, without those, the checker said so."""
    if not outcome["answer"]:
        return not outcome["error"] and not question.answers
    gold = gold_names(question, gold_by)
    if not gold:
        return bool(outcome["supported"])
    cited = [each for each in outcome["citations"] if each["kind"] == "passage"]
    return any((each["title"] if gold_by == "titles" else each["passage_id"]) in gold for each in cited)


def _sentence_scores(citations: Sequence[Citation], question: EvalQuestion, gold_by: GoldBy) -> dict[str, float]:
    """Score quotes against the supporting sentences (HotpotQA's supporting facts).

    A quote and a gold sentence of the same passage are the same when one of them lies within the other, white space
    apart: the data sets split sentences in other places than we do. A quote over two gold sentences finds both.
    """
    if not question.sentences or gold_by == "none":
        return {}
    gold = [str(number) for number in range(len(question.sentences))]
    cited = [
        name for each in citations if each["kind"] == "passage" for name in _quoted_sentences(each, question, gold_by)
    ]
    return {"sentence_precision": PRECISION(cited, gold), "sentence_recall": RECALL(cited, gold)}


def _quoted_sentences(citation: Citation, question: EvalQuestion, gold_by: GoldBy) -> list[str]:
    """Return the numbers of the gold sentences that a quote contains; a unique key if it contains none."""
    quote, by_id = " ".join(citation["quote"].split()), gold_by == "ids"
    titles = {each.id: each.title for each in question.contexts}
    found: list[str] = []
    for number, (passage_id, sentence) in enumerate(question.sentences):
        text = " ".join(sentence.split())
        same = passage_id == citation["passage_id"] if by_id else titles.get(passage_id) == citation["title"]
        if same and quote and text and (quote in text or text in quote):
            found.append(str(number))
    return found or [f"{citation['passage_id']}\n{quote}"]


def score_questions(reader: RunReader, method: str, questions: Mapping[str, EvalQuestion]) -> PerQuestion:
    """Score every question that a method has finished, averaged over repeats, in the order of the questions."""
    return average_repeats(score_repeats(reader, method, questions), questions)


def average_repeats(repeats: Sequence[PerQuestion], questions: Iterable[str]) -> PerQuestion:
    """Average the scores of each question over the repeats that have it, in the order of `questions`."""
    return {name: _means(rows) for name in questions if (rows := [each[name] for each in repeats if name in each])}


def score_repeats(reader: RunReader, method: str, questions: Mapping[str, EvalQuestion]) -> list[PerQuestion]:
    """Score what a method has finished, each repeat for itself, in their order.

    With the judge's scores once every answer is judged: a part is not a fair sample.
    """
    outcomes = [(each, questions[each["id"]]) for each in reader.latest(method).values() if each["id"] in questions]
    judged = read_judgements(reader)
    verdicts = [judged.verdict(outcome, question) for outcome, question in outcomes]
    known = [question.answers is not None for _, question in outcomes]
    complete = all(verdict is not None for verdict in compress(verdicts, known))
    repeats: list[PerQuestion] = [{} for _ in range(reader.manifest.repeats)]
    for (outcome, question), verdict in zip(outcomes, verdicts, strict=True):
        own = {"judged": float(verdict)} if complete and verdict is not None else {}
        scores = score_outcome(outcome, question, reader.manifest.corpus.gold_by)
        repeats[outcome["repeat"]][question.id] = {**scores, **own, **_costs(outcome)}
    return repeats


def deviation(repeats: Sequence[PerQuestion], score: str, ids: Iterable[str] | None = None) -> float | None:
    """Return the standard deviation (n - 1) over repeats of a score's mean, over the questions `ids` (None: all).

    Only questions that have the score in every repeat count. None without one, or with fewer than two repeats.
    """
    names = repeats[0] if repeats and ids is None else ids or ()
    common = [name for name in names if all(score in each.get(name, {}) for each in repeats)]
    if len(repeats) < 2 or not common:
        return None
    return stdev(fmean(each[name][score] for name in common) for each in repeats)


def _costs(outcome: Outcome) -> dict[str, float]:
    """Return what one question cost, and how many passages were ranked (`depth`).

    The calls and tokens of a failed one are unknown.
    """
    usage = cast("Mapping[str, float] | None", outcome["usage"])
    return {
        **({} if usage is None else {name: float(usage.get(name, 0)) for name in COSTS}),
        "seconds": outcome["seconds"],
        "depth": float(len(dict.fromkeys(outcome["retrieved"]))),
        "failed": float(bool(outcome["error"])),
        "answered": float(bool(outcome["answer"])),
        "budget": float(outcome["stop_reason"] == "budget"),
    }


def _means(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    values: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for name, value in row.items():
            values[name].append(value)
    return {name: fmean(each) for name, each in values.items()}


def summarize_run(reader: RunReader) -> dict[str, dict[str, Any]]:
    """Summarize a run by method; one without a finished question has n = 0 alone.

    `n` (questions finished), each score as a mean per question, each cost as a mean per question that did not fail,
    `ci95` (score → [low, high]), `sd` (score → standard deviation over repeats, where there are several), `failed`
    (questions of which any repeat failed), `parse_failures` (of all repeats) and `gap_closed`; where questions failed,
    `without_failed` (`n` and the scores of the others); `judge`, `second_judge` and `judge_audit`, where there were.
    """
    questions = {question.id: question for question in reader.questions()}
    repeats = {method: score_repeats(reader, method, questions) for method in reader.manifest.methods}
    rows = {method: average_repeats(each, questions) for method, each in repeats.items()}
    summary = {method: _summary(each, repeats[method], reader, method) for method, each in rows.items()}
    for method, each in summary.items():
        if (share := gap_closed(rows, method)) is not None:
            each["gap_closed"] = share
    return summary


def gap_closed(rows: Mapping[str, PerQuestion], method: str) -> float | None:
    """Return a method's share of the F1 gap between one-step retrieval (0) and the reader with the gold passages (1).

    Over the questions that all three have finished; None without one of the three, or where there is no gap.
    """
    parts = gap_parts(rows, method)
    gap = sum(whole for _, whole in parts)
    return sum(closed for closed, _ in parts) / gap if gap > 0 else None


def gap_parts(rows: Mapping[str, PerQuestion], method: str) -> list[tuple[float, float]]:
    """Return, for each question that all three have finished, how much F1 the method gains on one-step retrieval.

    With it stands how much the reader with the gold passages gains.
    """
    own, base, bound = (rows.get(name, {}) for name in (method, BASE, BOUND))
    common = [name for name in own if all("f1" in each.get(name, {}) for each in (own, base, bound))]
    return [(own[name]["f1"] - base[name]["f1"], bound[name]["f1"] - base[name]["f1"]) for name in common]


def _summary(rows: PerQuestion, repeats: Sequence[PerQuestion], reader: RunReader, method: str) -> dict[str, Any]:
    if not rows:
        return {"n": 0}
    usages = [each["usage"] for each in reader.latest(method).values() if each["id"] in rows]
    counted: dict[str, Any] = {
        "failed": sum(row["failed"] > 0 for row in rows.values()),
        "parse_failures": sum(usage["parse_failures"] for usage in usages if usage),
    }
    means = _means(rows.values())
    scores = [name for name in means if name not in _NOT_SCORES]
    if counted["failed"]:
        kept = [row for row in rows.values() if not row["failed"]]
        others = _means(kept)
        counted["without_failed"] = {"n": len(kept)} | {name: others[name] for name in scores if name in others}
    intervals = {name: list(bootstrap([row[name] for row in rows.values() if name in row])) for name in scores}
    if "judged" in means:
        judged = read_judgements(reader)
        counted["judge"] = judged.judge
        if agreement := judged.agreement(reader.latest(method).values()):
            counted["second_judge"] = agreement._asdict()
        if judged.audit:
            counted["judge_audit"] = judged.audit._asdict()
    if deviations := {name: sd for name in scores if (sd := deviation(repeats, name)) is not None}:
        counted["sd"] = deviations
    return {"n": len(rows), **means, **counted, "ci95": intervals}
