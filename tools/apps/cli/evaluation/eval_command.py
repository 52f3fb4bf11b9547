"""`hopgraph eval`: answer the questions of a data set by several methods, and score them."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.text import Text

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.state import Context, SettingsError
from hopgraph.tools.apps.cli.console import console_on, print_hanging
from hopgraph.tools.apps.cli.evaluation.estimate_table import print_estimate
from hopgraph.tools.apps.cli.evaluation.run_progress import RunProgress
from hopgraph.tools.apps.cli.evaluation.score_table import print_summary, summary_console
from hopgraph.tools.apps.cli.progress_bars import progress_on
from hopgraph.tools.apps.cli.settings_options import corpus_spec, method_named, settings_for
from hopgraph.tools.apps.evaluation.answer_judge import judge_run
from hopgraph.tools.apps.evaluation.batch.local_engine import Answering, Engine, Limits, Tally, outstanding
from hopgraph.tools.apps.evaluation.batch.process_engine import ProcessWorkers, process_workers, processes_for
from hopgraph.tools.apps.evaluation.batch.question_job import Job, answer
from hopgraph.tools.apps.evaluation.batch.ray_engine import RayWorkers, ray_workers
from hopgraph.tools.apps.evaluation.batch.run_directory import DOWNLOADED, RunWriter
from hopgraph.tools.apps.evaluation.batch.run_setup import Prepared, jobs_of, prepare_run
from hopgraph.tools.apps.evaluation.batch.run_spec import Wanted
from hopgraph.tools.apps.evaluation.batch.summary import summarise
from hopgraph.tools.apps.evaluation.cost_estimate import estimate, stand_in_for
from hopgraph.tools.apps.evaluation.dataset_hub import PREFIX, fetch
from hopgraph.tools.apps.evaluation.prices import PriceTable, read_prices
from hopgraph.tools.apps.evaluation.question_sampling import parse_sample
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.resources import get_model
from hopgraph.tools.text.sanitize import sanitize_line

_STAGES = {"read": "reading the corpus", "score": "scoring", "save": "saving"}
ALL = "all"


@dataclass(frozen=True)
class EvalOptions:
    """What the command line asks for."""

    dataset: Path | str
    """A file or a folder; `hub:OWNER/NAME?config=…&split=…` for one of the hub."""
    methods: str
    """Names parted by commas, or `all`."""
    out: Path
    model: str | None = None
    corpus: str | None = None
    add_contexts: bool = False
    preset: str | None = None
    assignments: Sequence[str] = ()
    format_name: str | None = None
    limit: int | None = None
    sample: str | None = None
    ids: Sequence[str] = ()
    concurrency: int = 16
    repeats: int = 1
    max_calls: int | None = None
    max_cost: float | None = None
    prices: Path | None = None
    retry_failed: bool = False
    keep_traces: bool = True
    engine: Literal["local", "ray"] = "local"
    processes: int | None = 1
    """Of this machine, with `local`; None: by the number of questions at a time (`processes_for`).

    Others import the script that was started, so with more than one it must do its work under
    `if __name__ == "__main__":`.
    """
    rename: int | None = None
    judge: str | None = None
    estimate_only: bool = False


def run_eval(options: EvalOptions) -> None:
    """Run or resume an evaluation and print its scores; progress goes to standard error.

    Raises:
        HopgraphError: whatever makes it impossible; what was finished before stays in the directory.
    """
    errors = console_on(stderr=True)
    wanted = wanted_of(options, settings_by_method(options))
    prices = prices_of(options)
    prepared = prepared_for(wanted)
    with RunWriter(wanted.out, prepared.manifest, prepared.questions) as directory:
        stopped = _run(options, wanted, prepared, directory, prices)
        if options.estimate_only:
            return
        if options.judge:
            with progress_on(errors, {"judge": "judging"}) as progress:
                run_in_background(judge_run(directory, options.judge, progress=partial(_judged, progress)))
        summary = summarise(directory)
        directory.write_summary(summary)
    print_summary(summary_console(), directory.manifest, summary)
    if stopped:
        say_stopped(errors, stopped)


def wanted_of(options: EvalOptions, methods: Mapping[str, Context]) -> Wanted:
    """Say what is to be measured, with these settings of each method."""
    return Wanted(
        dataset=_dataset(options),
        methods=methods,
        out=options.out.expanduser(),
        sample=parse_sample(options.sample, options.limit, options.ids),
        format_name=options.format_name,
        corpus=corpus_spec(options.corpus) if options.corpus else None,
        add_contexts=options.add_contexts,
        repeats=options.repeats,
        keep_traces=options.keep_traces,
        rename=options.rename,
    )


def prices_of(options: EvalOptions) -> PriceTable:
    """Read the prices.

    Raises:
        SettingsError: a limit of the cost without prices, or a table that cannot be read.
    """
    prices = read_prices(options.prices)
    if options.max_cost is not None and not prices.prices:
        raise SettingsError("--max-cost needs --prices FILE, with the prices of your models")
    return prices


def prepared_for(wanted: Wanted) -> Prepared:
    """Check the models, then make the corpus; a wrong spec is told before a folder is made."""
    run_in_background(_check_models(wanted.methods))
    with progress_on(console_on(stderr=True), _STAGES) as progress:
        return prepare_run(wanted, progress)


def _dataset(options: EvalOptions) -> Path:
    """Find the data set; one of the hub is fetched into the run's folder, under a name made of what was asked for."""
    given = str(options.dataset)
    if not given.startswith(PREFIX):
        return Path(given).expanduser()
    first = parse_sample(options.sample, options.limit, options.ids)
    limit = first.limit if first.seed is None else None
    asked_for = hashlib.sha256(f"{given} {limit}".encode()).hexdigest()[:8]
    return fetch(given, options.out.expanduser() / f"{DOWNLOADED}{asked_for}.jsonl", limit=limit)


def _judged(progress: Callable[[str, int, int | None], None], done: int, total: int) -> None:
    progress("judge", done, total)


def _run(options: EvalOptions, wanted: Wanted, prepared: Prepared, directory: RunWriter, prices: PriceTable) -> str:
    """Answer what is outstanding, after an estimate of its cost where one is wanted; says why it stopped early."""
    errors = console_on(stderr=True)
    jobs = list(
        outstanding(
            jobs_of(prepared, directory, keep_traces=options.keep_traces), directory, retry_failed=options.retry_failed
        )
    )
    if options.estimate_only or options.max_cost is not None or _has_price(prepared, prices):
        left = Counter(job.settings.method for job in jobs)
        stand_in = stand_in_for(wanted.dataset, prepared.questions, rename=wanted.rename)
        found = estimate(prepared.methods, prepared.questions, left, stand_in=stand_in, prices=prices)
        print_estimate(console_on() if options.estimate_only else errors, run_in_background(found))
        if options.estimate_only:
            return ""
    with _workers(options, prepared.methods, len(jobs)) if jobs else nullcontext() as workers:
        return answer_all(options, prepared, directory, prices, jobs, workers.answer if workers else answer)


def _workers(
    options: EvalOptions, methods: Mapping[str, Context], questions: int
) -> AbstractContextManager[RayWorkers | ProcessWorkers | None]:
    if options.engine == "ray":
        return ray_workers(options.concurrency)
    processes = options.processes or processes_for(methods, options.concurrency, questions)
    return process_workers(processes) if processes > 1 else nullcontext()


def answer_all(
    options: EvalOptions,
    prepared: Prepared,
    directory: RunWriter,
    prices: PriceTable,
    jobs: Sequence[Job],
    answering: Answering,
) -> str:
    """Answer what is outstanding, with progress on standard error; says why it stopped early, else nothing."""
    errors = console_on(stderr=True)
    every = len(prepared.questions) * len(prepared.methods) * prepared.manifest.repeats
    tally = Tally(total=every, finished=every - len(jobs))
    if tally.finished:
        print_hanging(errors, Text(), Text(f"Going on: {tally.finished:,} of {every:,} are finished.", "dim"), indent=0)
    limits = Limits(options.max_calls, options.max_cost)
    with RunProgress(errors, tally):
        return run_in_background(
            Engine(directory, tally, prices.price, limits, options.concurrency, answering).run(jobs)
        )


def _has_price(prepared: Prepared, prices: PriceTable) -> bool:
    return any(isinstance(each.model, str) and prices.knows(each.model) for each in prepared.methods.values())


async def _check_models(methods: Mapping[str, Context]) -> None:
    """Make every model that will be asked, so that a wrong spec is told before a folder is made.

    Raises:
        SpecError: names the spec.
    """
    for name, settings in methods.items():
        for step in settings.steps:
            await get_model(settings, f"{name}/{step}")


def say_stopped(errors: Console, why: str) -> None:
    """Say that a limit ended a run before its end."""
    text = f"Stopped: {sanitize_line(why)}. The same command with a higher limit goes on from here."
    print_hanging(errors, Text(), Text(text, "yellow"), indent=0)


def settings_by_method(options: EvalOptions) -> dict[str, Context]:
    """Make the settings of each method; `--set name=value` reaches all that have it, `--set method.name=value` one.

    Raises:
        SettingsError: an unknown method or setting, or a bad value.
    """
    names = _method_names(options.methods)
    found = {name: _settings(name, options) for name in names}
    for assignment in options.assignments:
        owner, key = _owner(assignment)
        if not any(owner in (None, name) and key in METHODS[name].Context.model_fields for name in names):
            raise SettingsError(f"--set {assignment!r:.80}: none of the methods {', '.join(names)} has this setting")
    if options.preset and not any(options.preset in METHODS[name].Context.presets for name in names):
        raise SettingsError(f"preset {options.preset!r} is unknown for {', '.join(names)}")
    return found


def _method_names(text: str) -> list[str]:
    if text.strip().lower() == ALL:
        return [name for name in METHODS if name not in ALIASES]
    given = [part for part in (part.strip() for part in text.split(",")) if part]
    if not given:
        raise SettingsError("--methods names none; give names parted by commas, or all")
    return list(dict.fromkeys(method_named(each).Context.method for each in given))


def _settings(name: str, options: EvalOptions) -> Context:
    cls: type[Context] = METHODS[name].Context
    own: list[str] = []
    for assignment in options.assignments:
        owner, key = _owner(assignment)
        if owner in (None, name) and key in cls.model_fields:
            own.append(f"{key}={assignment.partition('=')[2]}")
    preset = options.preset if options.preset in cls.presets else None
    return settings_for(cls, preset=preset, assignments=own, model=options.model)


def _owner(assignment: str) -> tuple[str | None, str]:
    """Part `method.name=value` into the method, None for all of them, and the setting's name."""
    name, equals, _ = assignment.partition("=")
    if not equals:
        raise SettingsError(f"--set {assignment!r:.80}: write it as key=value or method.key=value")
    owner, dot, key = name.strip().replace("-", "_").rpartition(".")
    return (method_named(owner).Context.method if dot else None), key
