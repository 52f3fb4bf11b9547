"""Experiments of papers that are no method's run: what works on a question, and the rates that a table shows."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from hopgraph.graphs import METHODS
from hopgraph.state import Context
from hopgraph.state.migres import MigresContext
from hopgraph.tools.apps.evaluation.batch.question_job import JobWork
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.preliminary import (
    ExtractionContext,
    MissingContext,
    run_extraction,
    run_missing_information,
)


class Rate(NamedTuple):
    """One count over another, both added up over all questions."""

    of: str
    over: str


class Experiment(NamedTuple):
    """An experiment that runs like a method."""

    context: type[MigresContext]
    work: JobWork
    rates: Mapping[str, Rate]
    """Names of columns to what they show."""
    judge: str
    """The step that judges; `--judge` gives it a model of its own."""


EXPERIMENTS: dict[str, Experiment] = {
    "information_extraction": Experiment(
        ExtractionContext,
        run_extraction,
        {
            "extraction_precision": Rate("right", "statements"),
            "extraction_recall": Rate("found", "gold"),
            "entailed_precision": Rate("entailed_right", "entailed_statements"),
            "entailed_recall": Rate("entailed_found", "gold"),
            "useful": Rate("useful", "entailed_statements"),
        },
        "judge_usefulness",
    ),
    "missing_information": Experiment(
        MissingContext,
        run_missing_information,
        {
            "all_right": Rate("all_right", "all"),
            "partial_unanswerable": Rate("unanswerable", "partial"),
            "missing_aligned": Rate("aligned", "unanswerable"),
        },
        "judge_alignment",
    ),
}
"""By name."""
RATES = frozenset(name for each in EXPERIMENTS.values() for name in each.rates)
"""What a column of an experiment can be compared with; each from 0 to 1."""


def context_named(name: str) -> type[Context]:
    """Get the settings of a method or of an experiment."""
    return EXPERIMENTS[name].context if name in EXPERIMENTS else cast("type[Context]", METHODS[name].Context)


def experiment_summary(folder: Path, name: str) -> dict[str, Any]:
    """Add an experiment's run up.

    Returns:
        `n` questions finished, `failed` ones among them, and each rate that is not over nothing. A question that
        failed has measured nothing and is left out of the rates.

    Raises:
        RunError: there is no run, or it is damaged.
    """
    reader = RunReader(folder)
    outcomes = reader.latest(name).values()
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        if not outcome["error"]:
            counts.update(reader.trace(outcome)["measured"])
    rates = EXPERIMENTS[name].rates
    shares = {key: counts[rate.of] / counts[rate.over] for key, rate in rates.items() if counts[rate.over]}
    return {"n": len(outcomes), "failed": sum(bool(each["error"]) for each in outcomes), **shares}
