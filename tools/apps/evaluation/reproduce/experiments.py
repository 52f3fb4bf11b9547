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


class Experiment(NamedTuple):
    """An experiment that runs like a method."""

    context: type[MigresContext]
    work: JobWork
    judge: str
    """The step that judges; `--judge` gives it a model of its own."""
    rates: Mapping[str, tuple[str, str]]
    """Column → a count and the count that it is a share of, both added up over all questions."""


EXPERIMENTS: dict[str, Experiment] = {
    "information_extraction": Experiment(
        ExtractionContext,
        run_extraction,
        "judge_usefulness",
        {
            "extraction_precision": ("right", "statements"),
            "extraction_recall": ("found", "gold"),
            "entailed_precision": ("entailed_right", "entailed_statements"),
            "entailed_recall": ("entailed_found", "gold"),
            "useful": ("useful", "entailed_statements"),
        },
    ),
    "missing_information": Experiment(
        MissingContext,
        run_missing_information,
        "judge_alignment",
        {
            "all_right": ("all_right", "all"),
            "partial_unanswerable": ("unanswerable", "partial"),
            "missing_aligned": ("aligned", "unanswerable"),
        },
    ),
}
"""By name."""


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
    rates = {key: counts[of] / counts[over] for key, (of, over) in EXPERIMENTS[name].rates.items() if counts[over]}
    return {"n": len(outcomes), "failed": sum(bool(each["error"]) for each in outcomes), **rates}
