"""Score the outcomes of a run, and summarize them by method: means with confidence intervals, costs, failures."""

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
"""Costs per question, from a method's usage; a cached reply counts as a call."""
BASE, BOUND = "one_step", "gold_passages"
"""The gap between these is the potential of better retrieval and reasoning."""
_NOT_SCORES = frozenset({*COSTS, "depth", "seconds", "failed", "answered", "budget"})

PerQuestion = dict[str, dict[str, float]]
"""Question id → score → its mean over the repeats."""


def score_outcome(outcome: Outcome, question: EvalQuestion, gold_by: GoldBy) -> dict[str, float]:
    """Return the scores of an outcome, each from 0 to 1; retrieved gold passages are recognized by `gold_by`.

    Answer scores if the data set has answers; retrieval scores if it has gold passages, over the passages given to the
    answer step; scores of quotes if it has supporting sentences, and of citations if the answer is long-form. A failure
    scores 0.
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
    """Return the ids or titles of a question's gold passages in this corpus; empty if they cannot be recognized."""
    return {"ids": question.gold, "titles": question.gold_titles, "none": ()}[gold_by]


def retrieved_names(outcome: Outcome, gold_by: GoldBy) -> Sequence[str]:
    """Return the retrieved passages by id or title, like the gold passages, best first."""
    return outcome["titles"] if gold_by == "titles" else outcome["retrieved"]


def _is_grounded(outcome: Outcome, question: EvalQuestion, gold_by: GoldBy) -> bool:
    """Return whether an answer's citations support it: one is a gold passage or, without gold, the checker said so."""
    if not outcome["answer"]:
        return not outcome["error"] and not question.answers
    gold = gold_names(question, gold_by)
    if not gold:
        return bool(outcome["supported"])
    cited = [each for each in outcome["citations"] if each["kind"] == "passage"]
    return any((each["title"] if gold_by == "titles" else each["passage_id"]) in gold for each in cited)


def _sentence_scores(citations: Sequence[Citation], question: EvalQuestion, gold_by: GoldBy) -> dict[str, float]:
    """Score quotes against the supporting sentences (HotpotQA's supporting facts).

    A quote matches a gold sentence of the same passage if one contains the other, ignoring white space, because data
    sets split sentences differently. A quote over two gold sentences matches both.
    """
    if not question.sentences or gold_by == "none":
        return {}
    gold = [str(number) for number in range(len(question.sentences))]
    cited = [
        name for each in citations if each["kind"] == "passage" for name in _quoted_sentences(each, question, gold_by)
    ]
    return {"sentence_precision": PRECISION(cited, gold), "sentence_recall": RECALL(cited, gold)}


def _quoted_sentences(citation: Citation, question: EvalQuestion, gold_by: GoldBy) -> list[str]:
    """Return the numbers of the gold sentences that a quote matches; a unique key if there are none."""
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
    """Return the scores of each finished question of a method, averaged over repeats, in the order of the questions."""
    return average_repeats(score_repeats(reader, method, questions), questions)


def average_repeats(repeats: Sequence[PerQuestion], questions: Iterable[str]) -> PerQuestion:
    """Average the scores of each question over the repeats that have it, in the order of `questions`."""
    return {name: _means(rows) for name in questions if (rows := [each[name] for each in repeats if name in each])}


def score_repeats(reader: RunReader, method: str, questions: Mapping[str, EvalQuestion]) -> list[PerQuestion]:
    """Return the scores of a method's finished questions for each repeat.

    The judge's scores are included only once every answer is judged, as a part is not a fair sample.
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
    """Return the standard deviation (n - 1) over repeats of a score's mean over the questions `ids` (default: all).

    Only questions that have the score in every repeat count; None if there are none, or fewer than two repeats.
    """
    names = repeats[0] if repeats and ids is None else ids or ()
    common = [name for name in names if all(score in each.get(name, {}) for each in repeats)]
    if len(repeats) < 2 or not common:
        return None
    return stdev(fmean(each[name][score] for name in common) for each in repeats)


def _costs(outcome: Outcome) -> dict[str, float]:
    """Return the costs of a question, and the number of ranked passages (`depth`).

    The calls and tokens of a failed question are unknown.
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
    """Return the summary of each method; without finished questions it is only n = 0.

    `n` (finished questions), each score's mean, each cost's mean over questions that did not fail, `ci95` (score →
    [low, high]), `sd` (score → standard deviation over repeats, if several), `failed` (questions with a failed repeat),
    `parse_failures` (in all repeats) and `gap_closed`; if questions failed, `without_failed` (`n` and the scores of the
    others); `judge`, `second_judge` and `judge_audit`, if the run was judged.
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
    """Return a method's share of the F1 gap between one-step retrieval (0) and the oracle with gold passages (1).

    Over the questions that all three have finished; None if one is missing, or there is no gap.
    """
    parts = gap_parts(rows, method)
    gap = sum(whole for _, whole in parts)
    return sum(closed for closed, _ in parts) / gap if gap > 0 else None


def gap_parts(rows: Mapping[str, PerQuestion], method: str) -> list[tuple[float, float]]:
    """Return the F1 gains over one-step retrieval of (the method, the oracle), per question that all have finished."""
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
