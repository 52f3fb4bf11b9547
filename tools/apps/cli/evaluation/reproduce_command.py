"""`hopgraph reproduce`: run the papers' tables and print our scores next to theirs."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.text import Text

from hopgraph.graphs import METHODS, find_method
from hopgraph.state import Context, RunError, SettingsError
from hopgraph.state.migres import MigresContext
from hopgraph.tools.apps.cli.command_options import SOME_FAILED
from hopgraph.tools.apps.cli.console import print_hanging, print_line, print_note
from hopgraph.tools.apps.cli.evaluation.eval_command import Terminal, question_set, run_eval, study_of
from hopgraph.tools.apps.cli.evaluation.evaluation_options import EvalOptions, ReproduceOptions, eval_options
from hopgraph.tools.apps.cli.evaluation.run_tables import print_table, summary_console
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.evaluation.batch.question_job import is_external
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, describe_missing_gold, describe_simulated
from hopgraph.tools.apps.evaluation.batch.run_setup import PreparedRun, share_corpus
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.datasets import detect_format
from hopgraph.tools.apps.evaluation.preliminary import EXPERIMENTS, annotated_sub_questions
from hopgraph.tools.apps.evaluation.report.writers import WRITERS
from hopgraph.tools.apps.evaluation.reproduce import paper_tables
from hopgraph.tools.apps.evaluation.reproduce.paper_tables import PaperTable, PlannedRow, ReportedPaper
from hopgraph.tools.apps.evaluation.reproduce.table_measures import measure_run
from hopgraph.tools.apps.evaluation.study import answered
from hopgraph.tools.apps.evaluation.study_specs import dataset_file, method_settings, played_model, run_spec
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.retrieval.resolve import corpus_spec
from hopgraph.tools.text.sanitize import pluralize

_REPORT = "reproduction"  # name of the files with our scores and the paper's
_PRINTED_OPTIONS = (
    *("methods", "model", "corpus", "preset", "format_name", "limit", "skip", "sample"),
    *("max_calls", "max_cost", "prices", "judge", "out"),
)
"""Options of a printed command, if they are set."""


def run_reproduce(options: ReproduceOptions) -> int:
    """List papers, a paper's tables or rows; or run a table's rows and print both scores. Return the exit code."""
    console = summary_console()
    if options.name is None or "/" not in options.name:
        if options.dataset is not None:
            raise SettingsError("name a table to run, e.g. tor/table5; `hopgraph reproduce tor` lists them")
        for name in [options.name] if options.name else paper_tables.REPRODUCED_PAPERS:
            _list_paper(console, name, with_tables=options.name is not None)
        return 0
    paper, table = paper_tables.read_paper_table(options.name)
    table = paper_tables.add_rows(table, [find_method(each) for each in options.methods or ()])
    if options.dataset is None:
        _show_paper(console, options, paper, table)
        return 0
    path = dataset_file(question_set(options, options.dataset), _out(options))
    dataset = options.format_name or detect_format(path)
    second = corpus_spec(options.second_corpus) if options.second_corpus else ""
    given = options.assignments or ()
    rows = paper_tables.plan_runs(table, dataset, given, has_corpus=options.corpus is not None, second_corpus=second)
    runs = {each.folder: _eval_options(options, path, each) for each in rows if not each.reason}
    settings: dict[str, Context] = {}
    for folder, each in runs.items():
        is_experiment, study = each.methods in EXPERIMENTS, study_of(each)
        made = experiment_settings(each) if is_experiment else method_settings(study, model=each.model)
        (settings[folder],) = made.values()
    rows, runs = _without({folder: each.missing for folder, each in settings.items() if each.missing}, rows, runs)
    if options.dry_run:
        for each in runs.values():
            console.print(Text(_command(options, each)), soft_wrap=True)
        _print_left_out(rows)
        return 0
    stand_ins = describe_simulated(settings[folder].model_dump() for folder in runs)
    warnings = paper_tables.warnings_for(table, dataset, pooled=options.corpus is None, stand_ins=stand_ins)
    rows, runs = _without(_evaluate(options, runs), rows, runs)
    summaries: dict[str, Mapping[str, Any]] = {}
    for folder, each in runs.items():
        reader = RunReader(_out(options) / folder)
        measured = measure_run(reader, each.methods, table.metrics)
        summaries[folder] = {**summarize_run(reader)[each.methods], **measured}
        warnings += [missing] if (missing := describe_missing_gold(reader.manifest)) not in ("", *warnings) else []
    if failed := sum(each.get("failed", 0) for each in summaries.values()):
        warnings.append(f"{pluralize(failed, 'question')} failed; --retry-failed asks them again.")
    made = paper_tables.compare_with_paper(options.name, paper, table, dataset, rows, summaries, warnings)
    print_table(console, made)
    texts = {end: WRITERS[end](f"{paper.title}: {made.title}", table.differs, [made]) for end in (".md", ".csv")}
    write_files({_out(options) / f"{_REPORT}{end}": text.encode("utf-8", "replace") for end, text in texts.items()})
    _print_notes(console, table, rows)
    return SOME_FAILED if failed else 0


def _without(
    reasons: Mapping[str, str], rows: Sequence[PlannedRow], runs: Mapping[str, EvalOptions]
) -> tuple[list[PlannedRow], dict[str, EvalOptions]]:
    """Mark the rows of some runs, by folder, with the reason why they are not run, and leave those runs out."""
    left = {folder: each for folder, each in runs.items() if folder not in reasons}
    return [PlannedRow(each.row, reasons[each.folder]) if each.folder in reasons else each for each in rows], left


def _show_paper(console: Console, options: ReproduceOptions, paper: ReportedPaper, table: PaperTable) -> None:
    """Print a table as in the paper; in a dry run, the commands for each of its data sets."""
    rows = paper_tables.plan_runs(table, table.datasets[0], has_corpus=True, second_corpus="named")
    for dataset in table.datasets:
        if options.dry_run:
            file, out = Path(f"{dataset}.json"), Path(f"{_out(options)}-{dataset}")
            run_reproduce(replace(options, dataset=file, format_name=dataset, out=out))
        else:
            made = paper_tables.compare_with_paper(f"{options.name} ({dataset})", paper, table, dataset, rows, {})
            print_table(console, made)
    if not options.dry_run:
        _print_notes(console, table, rows)


def _list_paper(console: Console, name: str, *, with_tables: bool) -> None:
    paper = paper_tables.read_paper(name)
    rows = [row for table in paper.tables.values() for row in table.rows]
    facts = f"{pluralize(len(paper.tables), 'table')}, {_count_runnable(rows)} can be run"
    print_hanging(console, Text(name, "bold"), Text(f"{paper.title} ({facts})"), indent=14)
    for key, table in paper.tables.items() if with_tables else ():
        facts = f"{', '.join(table.datasets)}; {_count_runnable(table.rows)}"
        print_hanging(console, Text(f"{name}/{key}"), Text(f"{table.title}: {facts}"), indent=20)


def _count_runnable(rows: Sequence[paper_tables.PaperTableRow]) -> str:
    return f"{sum(not row.reason for row in rows)} of {pluralize(len(rows), 'row')}"


def _print_notes(console: Console, table: PaperTable, rows: Sequence[PlannedRow]) -> None:
    facts = {"model": table.model, "retriever": table.retriever, "questions": table.questions}
    console.print()
    for text in (*(f"The paper's {name}: {text}." for name, text in facts.items() if text), *table.differs):
        print_line(console, text, "dim")
    _print_left_out(rows)


def _print_left_out(rows: Sequence[PlannedRow]) -> None:
    for label, reason in dict.fromkeys((each.row.label, each.reason) for each in rows if each.reason):
        print_note(f"Not run: {label}: {reason}.", "dim")


def _out(options: ReproduceOptions) -> Path:
    return (options.out or Path("runs", str(options.name).replace("/", "-"))).expanduser()


def _eval_options(options: ReproduceOptions, dataset: Path, planned: PlannedRow) -> EvalOptions:
    return eval_options(
        options,
        dataset=dataset,
        methods=planned.row.method,
        out=_out(options) / planned.folder,
        corpus=options.second_corpus if planned.second_corpus else options.corpus,
        model=played_model(options.model, dataset),
        assignments=[*planned.assignments],
        preset=planned.preset,
        add_contexts=planned.row.add_contexts,
        repeats=options.repeats or planned.row.runs,
        processes=None,
    )


def experiment_settings(options: EvalOptions) -> dict[str, Context]:
    """Return the settings of the experiment that `options.methods` names; `--judge` replaces the judging model."""
    name, context = options.methods, cast("type[MigresContext]", EXPERIMENTS[options.methods].context_schema)
    settings = settings_for(context, options.assignments, model=options.model)
    if options.judge:
        models = {**settings.models, f"{name}/{context.steps[-1]}": options.judge}
        settings = settings.model_copy(update={"models": models})
    return {name: settings}


def _run_experiment(options: EvalOptions) -> None:
    """Run or resume an experiment, with progress on standard error."""

    def check(prepared: PreparedRun) -> None:
        if lacking := [each.id for each in prepared.questions if not annotated_sub_questions(each)]:
            raise SettingsError(
                f"question {lacking[0]!r} has no annotated sub-answers, which this experiment needs; use MuSiQue or "
                "2WikiMultihopQA"
            )

    study = study_of(replace(options, retry_failed=True))
    (questions,) = study.datasets.values()
    spec = run_spec(study, questions, options.dataset, study.out, experiment_settings(options))
    with answered(study, replace(spec, keep_contexts=True), Terminal(), check):
        pass


def _command(reproduced: ReproduceOptions, options: EvalOptions) -> str:
    """Return the command that makes a run; only `reproduce` runs an experiment."""
    is_experiment = options.methods in EXPERIMENTS
    given = {name: getattr(options, name) for name in _PRINTED_OPTIONS}
    if is_external(options.methods):
        given["methods"] = METHODS[options.methods].place
    if is_experiment:
        given |= {"methods": None, "out": _out(reproduced)}
    words = ["reproduce", str(reproduced.name), "--dataset"] if is_experiment else ["eval"]
    words.append(str(options.dataset))
    for name, value in given.items():
        if value not in (None, ""):
            words += [f"--{name.removesuffix('_name').replace('_', '-')}", str(value)]
    words += [word for each in options.assignments or () for word in ("--set", each)]
    words += ["--repeat", str(options.repeats)] * (options.repeats > 1)
    flags = ["--add-contexts"] * options.add_contexts + ["--skip-invalid"] * options.skip_invalid
    return shlex.join(["hopgraph", *words, *flags])


def _evaluate(options: ReproduceOptions, asked: Mapping[str, EvalOptions]) -> dict[str, str]:
    """Run the rows one after another; return why some stopped, by folder, while others continued.

    RunError if none can run, or the model's server is down or refuses.
    """
    stopped: dict[str, str] = {}
    before: Path | None = None
    for number, (folder, each) in enumerate(asked.items(), 1):
        print_note(f"Run {number} of {len(asked)}: {folder} ({each.methods})", "bold")
        if each.corpus is None:  # all rows search the same pooled contexts
            own = _out(options) / folder
            share_corpus(before or own, own)
            before = own
        try:
            (_run_experiment if each.methods in EXPERIMENTS else run_eval)(each)
        except RunError as error:
            if error.trouble or len(stopped) + 1 == len(asked):
                raise
            stopped[folder] = str(error)
    return stopped
