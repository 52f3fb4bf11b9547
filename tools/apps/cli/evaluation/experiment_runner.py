"""Running an experiment of a paper in a run's folder, as `hopgraph reproduce` does."""

from dataclasses import replace
from functools import partial

from hopgraph.state import Context
from hopgraph.tools.apps.cli.evaluation.eval_command import answer_all, checked_and_prepared, prices_of, run_spec
from hopgraph.tools.apps.cli.evaluation.evaluation_options import EvalOptions
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.evaluation.batch.question_job import run_job
from hopgraph.tools.apps.evaluation.batch.run_directory import RunWriter
from hopgraph.tools.apps.evaluation.batch.run_setup import list_jobs
from hopgraph.tools.apps.evaluation.preliminary import annotated_sub_questions
from hopgraph.tools.apps.evaluation.reproduce.experiments import EXPERIMENTS


def experiment_settings(options: EvalOptions) -> dict[str, Context]:
    """Make the settings of the experiment that `options.methods` names; `--judge` replaces the model that judges.

    Raises:
        SettingsError: an unknown setting, or a bad value.
    """
    name = options.methods
    experiment = EXPERIMENTS[name]
    settings = settings_for(experiment.context, assignments=options.assignments or (), model=options.model)
    if options.judge:
        models = {**settings.models, f"{name}/{experiment.judge}": options.judge}
        settings = settings.model_copy(update={"models": models})
    return {name: settings}


def run_experiment(options: EvalOptions) -> None:
    """Run or resume an experiment; progress goes to standard error.

    Raises:
        HopgraphError: whatever makes it impossible; what was finished before stays in the folder.
    """
    spec = replace(run_spec(options, experiment_settings(options)), keep_contexts=True)
    prices = prices_of(options)
    prepared = checked_and_prepared(spec)
    for question in prepared.questions:
        annotated_sub_questions(question)  # raises, before the first call, where this data set has none
    work = EXPERIMENTS[options.methods].work
    with RunWriter(spec.out, prepared.manifest, prepared.questions) as directory:
        jobs = list_jobs(prepared, directory, keep_traces=True, retry_failed=True)
        answer_all(options, prepared, directory, prices, jobs, partial(run_job, work))
