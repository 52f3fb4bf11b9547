"""Running an experiment of a paper in a run's folder, as `hopgraph reproduce` does."""

from dataclasses import replace
from functools import partial

from hopgraph.state import Context
from hopgraph.tools.apps.cli.console import console_on
from hopgraph.tools.apps.cli.evaluation.eval_command import (
    EvalOptions,
    answer_all,
    prepared_for,
    prices_of,
    say_stopped,
    wanted_of,
)
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.evaluation.batch.local_engine import outstanding
from hopgraph.tools.apps.evaluation.batch.question_job import outcome_of
from hopgraph.tools.apps.evaluation.batch.run_directory import RunWriter
from hopgraph.tools.apps.evaluation.batch.run_setup import jobs_of
from hopgraph.tools.apps.evaluation.preliminary_cases import sub_questions_of
from hopgraph.tools.apps.evaluation.reproduce.experiments import EXPERIMENTS


def experiment_settings(options: EvalOptions) -> dict[str, Context]:
    """Make the settings of the experiment that `options.methods` names; a judge plays the role that judges.

    Raises:
        SettingsError: an unknown setting, or a bad value.
    """
    name = options.methods
    experiment = EXPERIMENTS[name]
    settings = settings_for(experiment.context, assignments=options.assignments, model=options.model)
    if options.judge:
        models = {**settings.models, f"{name}/{experiment.judge}": options.judge}
        settings = settings.model_copy(update={"models": models})
    return {name: settings}


def run_experiment(options: EvalOptions) -> None:
    """Run or resume an experiment; progress goes to standard error.

    Raises:
        HopgraphError: whatever makes it impossible; what was finished before stays in the folder.
    """
    wanted = replace(wanted_of(options, experiment_settings(options)), keep_contexts=True)
    prices = prices_of(options)
    prepared = prepared_for(wanted)
    for question in prepared.questions:
        sub_questions_of(question)  # tells before the first call that this data set has none
    work = EXPERIMENTS[options.methods].work
    with RunWriter(wanted.out, prepared.manifest, prepared.questions) as directory:
        jobs = list(outstanding(jobs_of(prepared, directory, keep_traces=True), directory, retry_failed=True))
        stopped = answer_all(options, prepared, directory, prices, jobs, partial(outcome_of, work))
    if stopped:
        say_stopped(console_on(stderr=True), stopped)
