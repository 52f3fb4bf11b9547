"""`hopgraph distill`: make training data for a role's student from a data set, by its annotation or by a teacher."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from hopgraph.graphs.distillation import DISTILLATION_GRAPHS
from hopgraph.state import SettingsError
from hopgraph.state.context import DEFAULT_MODEL
from hopgraph.state.distillation import DistillationContext
from hopgraph.tools.apps.cli.console import console_on
from hopgraph.tools.apps.cli.evaluation.eval_command import answered, any_failed, dataset_file, played_model, run_spec
from hopgraph.tools.apps.cli.evaluation.evaluation_options import DistillOptions, EvalOptions, QuestionOptions
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.evaluation.batch.run_setup import PreparedRun
from hopgraph.tools.apps.evaluation.distillation_data import DataRecipe, check_overlap, write_training_data

GOLD = "gold"
"""The teacher that is the data set's annotation."""


def run_distill(options: DistillOptions) -> bool:
    """Make the data or resume that, with progress on standard error, and return whether any question failed."""
    out = options.out.expanduser()
    run = out.with_name(f"{out.name}.run")
    if out.exists() and not run.exists():
        raise SettingsError(f"--out {out}: it exists, and was not made by this command; choose another name")
    dataset = dataset_file(options, options.dataset, run)
    teacher = played_model(options.teacher, dataset) or GOLD
    settings = distillation_settings(options, teacher)
    given = {each.name: getattr(options, each.name) for each in fields(QuestionOptions)}
    given |= {name: getattr(options, name) for name in ("estimate_only", "engine", "processes")}
    evaluation = EvalOptions(dataset, settings.method, run, **given)
    spec = replace(run_spec(evaluation, {settings.method: settings}), keep_contexts=True)

    def check(prepared: PreparedRun) -> None:
        _check_gold_ids(settings, prepared)
        if not options.allow_overlap:
            check_overlap(prepared.questions, [Path(each).expanduser() for each in options.not_in or ()])

    with answered(evaluation, spec, check) as directory:
        if directory is None:
            return False
        recipe = DataRecipe(options.role, teacher, base=None, balance=options.balance)
        summary = write_training_data(directory, out, recipe)
    console_on().print(Text(f"{describe_counts(summary['counts'])}: {out / 'train.jsonl'}"), soft_wrap=True)
    return any_failed(directory)


def distillation_settings(options: DistillOptions, teacher: str) -> DistillationContext:
    """Make the settings of the graph for a role; with the teacher `gold` no model is asked."""
    cls: Any = DISTILLATION_GRAPHS[options.role].context_schema
    by_gold = teacher == GOLD
    settings = settings_for(cls, assignments=options.assignments or (), model=DEFAULT_MODEL if by_gold else teacher)
    return settings.model_copy(update={"teacher": "gold" if by_gold else "model"})


def _check_gold_ids(settings: DistillationContext, prepared: PreparedRun) -> None:
    needed = settings.needs_gold_ids or (settings.teacher == "gold" and "retriever" in settings.uses)
    if needed and prepared.manifest.corpus.gold_by != "ids":
        raise SettingsError(
            "--corpus: the gold passages are not in it under the ids of the data set, by which they are recognized; "
            "leave --corpus out, or index the data set"
        )


def describe_counts(counts: Mapping[str, Any]) -> str:
    """Say how many examples there are, of which classes, and how many were dropped and why."""

    def listed(numbers: Mapping[str, int]) -> str:
        return ", ".join(f"{name} {number:,}" for name, number in numbers.items())

    classes = f" ({listed(counts['labels'])})" if counts["labels"] else ""
    left_out = f"; dropped: {listed(counts['dropped'])}" if counts["dropped"] else ""
    return f"{counts['kept']:,} examples of {counts['seen']:,}{classes}{left_out}"
