"""`hopgraph reproduce`: the papers' tables, and our scores beside their numbers."""

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.text import Text

from hopgraph.state import Context, SettingsError
from hopgraph.tools.apps.cli.console import console_on, print_hanging
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval, settings_by_method
from hopgraph.tools.apps.cli.evaluation.experiment_runner import experiment_settings, run_experiment
from hopgraph.tools.apps.cli.evaluation.score_table import summary_console
from hopgraph.tools.apps.cli.evaluation.table_blocks import print_table
from hopgraph.tools.apps.cli.progress_bars import progress_on
from hopgraph.tools.apps.evaluation.batch.run_corpus import CORPUS
from hopgraph.tools.apps.evaluation.batch.stand_ins import models_of, stand_ins_among
from hopgraph.tools.apps.evaluation.datasets import format_of, read_questions
from hopgraph.tools.apps.evaluation.report.writers import WRITERS
from hopgraph.tools.apps.evaluation.reproduce.experiments import EXPERIMENTS
from hopgraph.tools.apps.evaluation.reproduce.paper_comparison import beside, summary_of, warnings_for
from hopgraph.tools.apps.evaluation.reproduce.paper_tables import PAPERS, Paper, PaperTable, read_paper, read_table
from hopgraph.tools.apps.evaluation.reproduce.run_plan import PlannedRow, RowRun, planned
from hopgraph.tools.io.atomic_files import write_files
from hopgraph.tools.retrieval import build_index
from hopgraph.tools.retrieval.index_manifest import is_index
from hopgraph.tools.text.sanitize import pluralize, sanitize_line

_STAGES = {"read": "reading the corpus", "score": "scoring", "save": "saving"}
_REPORT = "reproduction"
"""The files with our scores beside the paper's, in the table's folder."""


@dataclass(frozen=True)
class ReproduceOptions:
    """What the command line asks for."""

    name: str | None = None
    """A paper, as `tor`, or a table, as `tor/table5`; None for the list of papers."""
    dataset: Path | None = None
    """The questions; None: only show what the paper has."""
    model: str | None = None
    corpus: str | None = None
    out: Path | None = None
    """The folder for the runs of a table; None: `runs/PAPER-TABLE`."""
    assignments: Sequence[str] = ()
    format_name: str | None = None
    limit: int | None = None
    sample: str | None = None
    concurrency: int = 16
    max_calls: int | None = None
    """Per row, as is `max_cost`."""
    max_cost: float | None = None
    prices: Path | None = None
    judge: str | None = None
    """The model that judges answers, for the columns Acc†; None leaves them empty."""
    dry_run: bool = False
    """Print the commands, run nothing."""


def run_reproduce(options: ReproduceOptions) -> None:
    """List papers, a paper's tables or a table's rows; or run the rows of a table, and print ours beside the paper's.

    Raises:
        HopgraphError: no such paper or table, or whatever makes an evaluation impossible.
    """
    console = summary_console()
    if options.name is None or "/" not in options.name:
        if options.dataset is not None:
            raise SettingsError("name a table to run, as tor/table5; `hopgraph reproduce tor` lists them")
        _list(console, PAPERS if options.name is None else [options.name], with_tables=options.name is not None)
        return
    paper, table = read_table(options.name)
    if options.dataset is None:
        _show(console, options.name, paper, table)
        return
    dataset = options.format_name or format_of(options.dataset.expanduser())
    rows = planned(table, dataset, options.assignments, has_corpus=options.corpus is not None)
    runs = {each.run.folder: each.run for each in rows if each.run}
    asked = {folder: _eval_options(options, run) for folder, run in runs.items()}
    settings = {folder: _settings(each) for folder, each in asked.items()}
    if options.dry_run:
        for each in asked.values():
            console.print(Text(_command(options, each)), soft_wrap=True)
        _say_left_out(rows)
        return
    models = [each for own in settings.values() for one in own.values() for each in models_of(one.model_dump())]
    warnings = warnings_for(table, dataset, pooled=options.corpus is None, stand_ins=stand_ins_among(models))
    _evaluate(options, asked)
    summaries = {folder: summary_of(asked[folder].out, run.method) for folder, run in runs.items()}
    made = beside(options.name, paper, table, dataset, rows, summaries, warnings)
    print_table(console, made)
    _notes(console, table)
    files = {_out(options) / f"{_REPORT}{ending}": WRITERS[ending] for ending in (".md", ".csv")}
    texts = {path: write(f"{paper.title}: {made.title}", table.differs, [made]) for path, write in files.items()}
    write_files({path: text.encode("utf-8", "replace") for path, text in texts.items()})
    _say_left_out(rows)


def _list(console: Console, names: Sequence[str], *, with_tables: bool) -> None:
    for name in names:
        paper = read_paper(name)
        rows = [row for table in paper.tables.values() for row in table.rows]
        runnable = sum(row.available for row in rows)
        facts = f"{pluralize(len(paper.tables), 'table')}, {runnable} of {pluralize(len(rows), 'row')} can be run"
        print_hanging(console, Text(name, "bold"), Text(f"{paper.title} ({facts})"), indent=14)
        if with_tables:
            for key, table in paper.tables.items():
                can = sum(row.available for row in table.rows)
                told = f"{table.title}: {', '.join(table.datasets)}; {can} of {pluralize(len(table.rows), 'row')}"
                print_hanging(console, Text(f"{name}/{key}"), Text(told), indent=20)


def _show(console: Console, name: str, paper: Paper, table: PaperTable) -> None:
    """Print a table as the paper has it, one block per data set."""
    rows = planned(table, table.datasets[0], has_corpus=True)
    for dataset in table.datasets:
        shown = beside(f"{name} ({dataset})", paper, table, dataset, rows, {}, ())
        print_table(console, shown)
    _notes(console, table)
    _say_left_out(rows)


def _notes(console: Console, table: PaperTable) -> None:
    facts = {"model": table.model, "retriever": table.retriever, "questions": table.questions}
    told = [f"The paper's {name}: {text}." for name, text in facts.items() if text]
    console.print()
    for text in (*told, *table.differs):
        print_hanging(console, Text(), Text(text, "dim"), indent=0)


def _say_left_out(rows: Sequence[PlannedRow]) -> None:
    errors = console_on(stderr=True)
    for label, reason in dict.fromkeys((each.row.label, each.reason) for each in rows if not each.run):
        print_hanging(errors, Text(), Text(f"Not run: {label}: {reason}.", "dim"), indent=0)


def _out(options: ReproduceOptions) -> Path:
    return (options.out or Path("runs", str(options.name).replace("/", "-"))).expanduser()


def _eval_options(options: ReproduceOptions, run: RowRun) -> EvalOptions:
    if options.dataset is None:
        raise ValueError("a run needs questions")
    return EvalOptions(
        dataset=options.dataset,
        methods=run.method,
        out=_out(options) / run.folder,
        model=options.model,
        corpus=options.corpus,
        add_contexts=run.add_contexts,
        preset=run.preset,
        assignments=run.assignments,
        format_name=options.format_name,
        limit=options.limit,
        sample=options.sample,
        concurrency=options.concurrency,
        processes=None,
        max_calls=options.max_calls,
        max_cost=options.max_cost,
        prices=options.prices,
        judge=options.judge,
    )


def _settings(options: EvalOptions) -> dict[str, Context]:
    return experiment_settings(options) if options.methods in EXPERIMENTS else settings_by_method(options)


def _command(reproduced: ReproduceOptions, options: EvalOptions) -> str:
    """Write a run as the command that makes it: an experiment has no other than `reproduce`."""
    if options.methods in EXPERIMENTS:
        options = replace(options, methods="", out=_out(reproduced))
    given = {
        "--methods": options.methods,
        "--model": options.model,
        "--corpus": options.corpus,
        "--preset": options.preset,
        "--format": options.format_name,
        "--limit": options.limit,
        "--sample": options.sample,
        "--max-calls": options.max_calls,
        "--max-cost": options.max_cost,
        "--prices": options.prices,
        "--judge": options.judge,
        "--out": options.out,
    }
    start = ["eval", str(options.dataset)] if options.methods else ["reproduce", str(reproduced.name), "--dataset"]
    words = ["hopgraph", *start, *([] if options.methods else [str(options.dataset)])]
    words += [word for name, value in given.items() if value not in (None, "") for word in (name, str(value))]
    words += [word for each in options.assignments for word in ("--set", each)]
    return shlex.join([*words, *(["--add-contexts"] if options.add_contexts else [])])


def _evaluate(options: ReproduceOptions, asked: dict[str, EvalOptions]) -> None:
    """Run the rows one after the other; each resumes what it has finished."""
    shared = _pooled_index(options) if options.corpus is None else None
    errors = console_on(stderr=True)
    for number, (folder, each) in enumerate(asked.items(), 1):
        heading = f"Run {number} of {len(asked)}: {sanitize_line(folder)} ({each.methods})"
        print_hanging(errors, Text(), Text(heading, "bold"), indent=0)
        if shared is not None:
            _lend(shared, each.out / CORPUS)
        (run_experiment if each.methods in EXPERIMENTS else run_eval)(each)


def _pooled_index(options: ReproduceOptions) -> Path:
    """Index the contexts of the data set once, for all rows."""
    dataset, shared = Path(str(options.dataset)).expanduser(), _out(options) / CORPUS
    first = next(iter(islice(read_questions(dataset, options.format_name), 1)), None)
    if not dataset.is_dir() and (first is None or not first.contexts):
        raise SettingsError(f"{dataset.name} has no passages of its own; name a corpus with --corpus")
    if not is_index(shared):
        with progress_on(console_on(stderr=True), _STAGES) as progress:
            build_index(dataset, shared, progress=progress)
    return shared


def _lend(shared: Path, own: Path) -> None:
    """Give a run the index without building or, where the file system can link, storing it again."""
    if is_index(own):
        return
    half = own.with_name(f"{own.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    half.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(shared, half, copy_function=_link)
    half.rename(own)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
