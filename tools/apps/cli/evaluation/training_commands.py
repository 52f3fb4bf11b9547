"""`hopgraph build` and `distill`: from training questions to what a method takes from them, or a role's student."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.text import Text

from hopgraph.state import SettingsError
from hopgraph.state.context import DEFAULT_MODEL
from hopgraph.state.distillation import DistillationContext
from hopgraph.tools.apps.cli.console import console_on
from hopgraph.tools.apps.cli.evaluation.eval_command import (
    answered,
    any_failed,
    dataset_file,
    played_model,
    run_eval,
    run_spec,
)
from hopgraph.tools.apps.cli.evaluation.evaluation_options import BuildOptions, DistillOptions, eval_options
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.evaluation.batch.question_job import DISTILLATION_GRAPHS
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.run_setup import PreparedRun
from hopgraph.tools.apps.evaluation.student_check import YES_NO
from hopgraph.tools.apps.evaluation.training_data import TRAINING_FILES, check_overlap, write_training_data
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.resolve import SAMPLE

_FILTERS = ("negatives", "min_citation_overlap", "own_passages", "max_sub_questions")
"""Settings that say what becomes an example."""


def _run_folder(given: Path) -> tuple[Path, Path]:
    """Return what is to be written, and the folder of the run beside it; SettingsError where it is another's."""
    out = given.expanduser()
    run = out.with_name(f"{out.name}.run")
    if out.exists() and not run.exists():
        raise SettingsError(f"--out {out}: it exists, and was not made by this command; choose another name")
    return out, run


def run_build(options: BuildOptions) -> bool:
    """Run or resume the evaluation, write the file of what it has finished, and return whether any question failed."""
    (methods, write), (out, run) = TRAINING_FILES[options.method], _run_folder(options.out)
    failed = run_eval(eval_options(options, methods=methods, out=run, processes=None))
    if not options.estimate_only:
        console_on().print(Text(write(RunReader(run), out)), soft_wrap=True)
    return failed


def run_distill(options: DistillOptions) -> bool:
    """Make the data or resume that, with progress on standard error, and return whether any question failed."""
    out, run = _run_folder(options.out)
    cls: Any = DISTILLATION_GRAPHS[options.role].context_schema
    _check_choices(options, cls)
    dataset = dataset_file(options, options.dataset, run)
    settings = _settings(options, cls, dataset)
    searches = "retriever" in settings.uses
    corpus = options.corpus if searches else SAMPLE
    evaluation = eval_options(options, dataset=dataset, methods=settings.method, out=run, corpus=corpus)
    spec = replace(run_spec(evaluation, {settings.method: settings}), keep_contexts=True)

    def check(prepared: PreparedRun) -> None:
        names_gold = settings.teacher == "gold" or settings.asks_base
        if searches and names_gold and prepared.manifest.corpus.gold_by != "ids":
            advice = "leave --corpus out, or index the data set"
            raise SettingsError(f"--corpus: it does not have the gold passages under the data set's ids; {advice}")
        if not options.allow_overlap:
            check_overlap(prepared.questions, [Path(each).expanduser() for each in options.not_in or ()])

    with answered(evaluation, spec, check) as directory:
        if directory is None:
            return False
        about: dict[str, Any] = {
            "role": options.role,
            "teacher": redact(options.teacher),
            "base": redact(options.base or "") or None,
        }
        filters = {name: getattr(settings, name) for name in _FILTERS if name in cls.model_fields}
        about["filters"] = {"balance": options.balance, **filters}
        summary = write_training_data(directory, out, about, balance=options.balance)
    counts = summary["counts"]
    named = [", ".join(f"{name} {n:,}" for name, n in counts[kind].items()) for kind in ("labels", "dropped")]
    text = f"{counts['kept']:,} of {counts['seen']:,} examples kept{named[0] and f' ({named[0]})'}: {out}"
    text += named[1] and f"; dropped: {named[1]}"
    console_on().print(Text(text), soft_wrap=True)
    return any_failed(directory)


def _check_choices(options: DistillOptions, cls: type[DistillationContext]) -> None:
    """Refuse a teacher, a base or a switch that the role has no use for."""
    role, by_gold = options.role, options.teacher == "gold"
    if ("gold" if by_gold else "model") not in cls.teachers:
        raise SettingsError(f"--teacher {options.teacher}: {role} takes {'a model' if by_gold else 'gold'} alone")
    if cls.asks_base != (options.base is not None):
        problem = "needs --base SPEC, the model that answers from memory" if cls.asks_base else "takes no --base"
        raise SettingsError(f"--for {role} {problem}")
    if options.negatives and "negatives" not in cls.model_fields:
        raise SettingsError("--negatives: only genground/ground has the reply Empty")
    if options.balance and role not in YES_NO:
        raise SettingsError(f"--balance: only {' and '.join(sorted(YES_NO))} have classes")


def _settings(options: DistillOptions, cls: type[DistillationContext], dataset: Path) -> DistillationContext:
    """Make the settings of the role's graph; with the teacher `gold` and no base, no model is asked."""
    teacher, base = (played_model(each, dataset) for each in (options.teacher, options.base))
    by_gold = teacher == "gold"
    asked = base if cls.asks_base else DEFAULT_MODEL if by_gold else teacher
    settings = settings_for(cls, assignments=options.assignments or (), model=asked)
    given: dict[str, Any] = {"teacher": "gold" if by_gold else "model"}
    if "negatives" in cls.model_fields:  # the teacher's step is the last
        given["models"] = {**settings.models, f"{cls.method}/{cls.steps[-1]}": teacher}
        given["negatives"] = options.negatives or getattr(settings, "negatives", False)
    return settings.model_copy(update=given)
