"""Add a run up: per method the means with their intervals, the costs, the failures."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any, cast

from hopgraph.tools.evaluation.questions import EvalQuestion
from hopgraph.tools.evaluation.runs.directory import RunReader
from hopgraph.tools.evaluation.runs.outcome import Outcome
from hopgraph.tools.evaluation.runs.scores import scores_of
from hopgraph.tools.evaluation.statistics import bootstrap

COSTS = ("llm_calls", "prompt_tokens", "completion_tokens", "retrievals", "iterations", "passages", "parse_failures")
"""Per question, from a method's usage; a replayed reply counts as the call that it once was."""
BASE, BOUND = "one_step", "gold_passages"
"""Between these lies the gap that better retrieval and reasoning can close."""

PerQuestion = dict[str, dict[str, float]]
"""Question id → score → its mean over the repeats."""


def per_question(reader: RunReader, method: str, questions: Mapping[str, EvalQuestion]) -> PerQuestion:
    """Score every question that a method has finished, averaged over repeats, in the order of the questions."""
    gold_by = reader.manifest.corpus.gold_by
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    for outcome in reader.latest(method).values():
        if outcome["id"] in questions:
            scores = scores_of(outcome, questions[outcome["id"]], gold_by)
            found[outcome["id"]].append({**scores, **costs_of(outcome)})
    return {name: _means(found[name]) for name in questions if name in found}


def costs_of(outcome: Outcome) -> dict[str, float]:
    """List what one question cost; zeros for one that failed."""
    usage = cast("Mapping[str, float]", outcome["usage"] or {})
    return {
        **{name: float(usage.get(name, 0)) for name in COSTS},
        "seconds": outcome["seconds"],
        "failed": float(bool(outcome["error"])),
        "answered": float(bool(outcome["answer"])),
        "budget": float(outcome["stop_reason"] == "budget"),
    }


def _means(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Average each score over the rows that have it."""
    values: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for name, value in row.items():
            values[name].append(value)
    return {name: fmean(each) for name, each in values.items()}


def summarise(reader: RunReader) -> dict[str, dict[str, Any]]:
    """Add a run up.

    Returns:
        Method → `n` (questions finished), each score and cost as a mean per question, `ci95` (score → [low,
        high]), `failed` (how many), and `gap_closed`: which share of the way from one-step retrieval to the
        reader with the gold passages the method's F1 makes, where both are in the run. A method without a
        finished question has n = 0 alone.
    """
    questions = {question.id: question for question in reader.questions()}
    scored = {method: per_question(reader, method, questions) for method in reader.manifest.methods}
    summary = {method: _summary(rows) for method, rows in scored.items()}
    low, high = (summary.get(name, {}).get("f1") for name in (BASE, BOUND))
    for each in summary.values():
        if low is not None and high is not None and high > low and "f1" in each:
            each["gap_closed"] = (each["f1"] - low) / (high - low)
    return summary


def _summary(rows: PerQuestion) -> dict[str, Any]:
    if not rows:
        return {"n": 0}
    means = _means(rows.values())
    counted = {name: sum(row[name] for row in rows.values()) for name in ("failed", "parse_failures")}
    scores = [name for name in means if name not in {*COSTS, "seconds", "failed", "answered", "budget"}]
    intervals = {name: list(bootstrap([row[name] for row in rows.values() if name in row])) for name in scores}
    return {"n": len(rows), **means, **counted, "ci95": intervals}
