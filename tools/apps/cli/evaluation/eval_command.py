"""`hopgraph eval`: answer the questions of data sets with several methods, and score them; `hopgraph study`."""

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import Any

from typing_extensions import override

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.command_options import LIMIT_REACHED, MOST_UNUSABLE, SOME_FAILED
from hopgraph.tools.apps.cli.console import console_on, print_line, print_note, print_skipped, show_progress
from hopgraph.tools.apps.cli.evaluation.evaluation_options import EvalOptions, QuestionOptions, StudyFileOptions
from hopgraph.tools.apps.cli.evaluation.run_tables import (
    print_estimate,
    print_summary,
    print_table,
    run_progress,
    summary_console,
)
from hopgraph.tools.apps.cli.settings_options import split_assignment
from hopgraph.tools.apps.evaluation.batch.local_engine import RunTally
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, RunWriter
from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.cost_estimate import RunEstimate, read_prices
from hopgraph.tools.apps.evaluation.report.measure_tables import step_table
from hopgraph.tools.apps.evaluation.report.tables import frontier_table
from hopgraph.tools.apps.evaluation.step_oracle import step_costs
from hopgraph.tools.apps.evaluation.study import FinishedRun, RunObserver, estimate, example_study, run
from hopgraph.tools.apps.evaluation.study_model import QuestionSet, Study, make_study, study_schema
from hopgraph.tools.apps.evaluation.study_specs import read_study
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.retrieval.corpora import CorpusReading
from hopgraph.tools.retrieval.staging import Progress
from hopgraph.tools.text.sanitize import pluralize

_STUDY_FILES = frozenset({".yaml", ".yml"})


def run_eval(options: EvalOptions) -> int:
    """Run or resume an evaluation and print its scores, with progress on standard error; return the exit code."""
    study = study_of(options)
    shown = {"frontier": options.frontier, "steps": study.oracle is not None, "estimates_only": options.estimate_only}
    terminal = Terminal(study.prices, **shown)
    if options.estimate_only:
        estimate(study, terminal)
        return 0
    run(study, terminal)
    return next(filter(None, sorted(terminal.codes)), 0)


def run_study(options: StudyFileOptions) -> None:
    """Write an example study, with its schema next to it."""
    path = options.file.expanduser()
    if path.exists():
        raise SettingsError(f"{path} already exists; name another file")
    schema = path.with_name("study.schema.json")
    write_files({path: example_study().encode(), schema: f"{study_schema()}\n".encode()})
    print_line(console_on(), f"Written: {path}, {schema}. Next: hopgraph eval {path} --dry-run")


class Terminal(RunObserver):
    """Shows a study on the terminal."""

    def __init__(
        self, prices: Path | None = None, *, frontier: bool = False, steps: bool = False, estimates_only: bool = False
    ) -> None:
        """Initialize: `frontier` marks the methods on the Pareto frontier, `steps` shows the cost of each step.

        With `estimates_only`, estimates go to standard output.
        """
        self.prices, self.frontier, self.steps, self.estimates_only = prices, frontier, steps, estimates_only
        self.codes: list[int] = []
        """The exit codes of the runs."""

    @override
    def note(self, text: str, style: str = "yellow") -> None:
        print_note(text, style)

    @override
    def skipped(self, what: str, reading: CorpusReading) -> None:
        print_skipped(what, reading.skipped, reading.first_skipped)

    @override
    def progress(self, stages: Mapping[str, str]) -> AbstractContextManager[Progress | None]:
        return show_progress(stages)

    @override
    def estimated(self, estimate: RunEstimate) -> None:
        print_estimate(summary_console() if self.estimates_only else console_on(stderr=True), estimate)

    @override
    def answering(self, tally: RunTally) -> AbstractContextManager[None]:
        return run_progress(console_on(stderr=True), tally)

    @override
    def stopped(self, run: RunReader) -> None:
        report_failures(run)

    @override
    def finished(self, run: FinishedRun) -> None:
        console = summary_console()
        print_summary(console, run.reader.manifest, run.summary, run.label)
        if self.steps:
            print_table(console, step_table(step_costs(run.reader)))
        if self.frontier:
            print_table(console, frontier_table(compare_runs([run.reader], read_prices(self.prices))))
        self.codes.append(report_failures(run.reader, ", and count as wrong"))


def report_failures(directory: RunReader, consequence: str = "") -> int:
    """Report how many questions failed and why, or that most replies were unusable; return the exit code."""
    latest = {name: directory.latest(name) for name in directory.manifest.methods}
    outcomes = [each for found in latest.values() for each in found.values()]
    reasons = Counter(each["error"] for each in outcomes if each["error"])
    if failed := reasons.total():
        asked = pluralize(len(outcomes), "question")
        print_note(f"{failed:,} of {asked} failed{consequence}; the same command with --retry-failed asks them again.")
        for reason, times in reasons.most_common(3):  # `hopgraph show` has all
            print_note(f"  {times:,} × {reason}")
    usages = [each["usage"] for each in outcomes if each["usage"]]
    calls, unusable = (sum(each[name] for each in usages) for name in ("llm_calls", "parse_failures"))
    if most_unusable := 2 * unusable > calls:
        advice = "the scores say little about the model; try `hopgraph ask -v` with it"
        print_note(f"{unusable:,} of {pluralize(calls, 'reply', 'replies')} could not be used: {advice}.")
    limit = isinstance(directory, RunWriter) and directory.limit
    return (failed and SOME_FAILED) or (limit and LIMIT_REACHED) or (most_unusable and MOST_UNUSABLE) or 0


def study_of(options: EvalOptions) -> Study:
    """Return the study that options describe: that of a file, which options override, or a single run.

    SettingsError if the methods or the folder are missing, or a value is invalid.
    """
    given, questions = _given(options), _of_questions(options)
    changes: dict[str, Any] = {name: given[name] for name in Study.model_fields.keys() & given.keys()}
    if options.processes is None:
        changes.pop("processes", None)  # the study sets it
    if options.methods:
        changes["methods"] = [each for each in map(str.strip, options.methods.split(",")) if each]
        if not changes["methods"]:
            raise SettingsError("--methods is empty; use comma-separated names, papers, or all")
    settings: dict[str, Any] = {}
    for key, value in map(split_assignment, options.assignments or ()):
        settings.pop(key, None)  # the last one counts
        settings[key] = value
    if options.dataset.suffix.lower() in _STUDY_FILES:
        return _changed(read_study(options.dataset), changes, questions, settings, options)
    if lacking := [name for name in ("methods", "out") if not getattr(options, name)]:
        raise SettingsError(f"--{lacking[0]} is missing: set it, or pass a study file (.yaml) that has it")
    whole = {"processes": options.processes, **changes, "settings": settings, "models": {"": options.model}}
    return make_study({**whole, "datasets": {"": question_set(options, options.dataset)}})


def _changed(
    study: Study, changes: dict[str, Any], questions: dict[str, Any], settings: dict[str, Any], options: EvalOptions
) -> Study:
    written = study.model_dump(exclude_unset=True)
    if options.model is not None:
        changes["models"] = [options.model]
    if "methods" in changes:
        changes["methods"] = {name: study.methods.get(name, {}) for name in changes["methods"]}
    datasets = {name: {**each, **questions} for name, each in written["datasets"].items()}
    settings = {**study.settings, **settings}
    return make_study(
        {"processes": options.processes, **written, **changes, "datasets": datasets, "settings": settings}
    )


def question_set(options: QuestionOptions, dataset: Path) -> QuestionSet:
    """Return the questions of a data set that the options select."""
    return QuestionSet(file=str(dataset), **_of_questions(options))


def _given(options: QuestionOptions) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    values = {each.name: (getattr(options, each.name), each.default) for each in fields(options)}
    return {name: value for name, (value, default) in values.items() if value != default}


def _of_questions(options: QuestionOptions) -> dict[str, Any]:
    given = _given(options)
    renamed = {"format": given.pop("format_name")} if "format_name" in given else {}
    return renamed | {name: given[name] for name in QuestionSet.model_fields.keys() & given.keys()}
