"""`hopgraph eval`: answer the questions of a data set by several methods, and score them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.state import Context, SettingsError
from hopgraph.tools.background import run_in_background
from hopgraph.tools.cli.console import console_on, on_one_line, print_hanging
from hopgraph.tools.cli.evaluation.progress import RunProgress
from hopgraph.tools.cli.evaluation.table import print_summary, summary_console
from hopgraph.tools.cli.progress import progress_on
from hopgraph.tools.cli.settings import corpus_spec, method_named, settings_for
from hopgraph.tools.evaluation.prices import PriceTable, read_prices
from hopgraph.tools.evaluation.runs.begin import Prepared, Wanted, jobs_of, prepare_run
from hopgraph.tools.evaluation.runs.directory import RunWriter
from hopgraph.tools.evaluation.runs.engine import Engine, Limits, Tally, outstanding
from hopgraph.tools.evaluation.runs.summary import summarise
from hopgraph.tools.evaluation.sampling import parse_sample

_STAGES = {"read": "reading the corpus", "score": "scoring", "save": "saving"}
ALL = "all"


@dataclass(frozen=True)
class EvalOptions:
    """What the command line asks for."""

    dataset: Path
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


def run_eval(options: EvalOptions) -> None:
    """Run or resume an evaluation and print its scores; progress goes to standard error.

    Raises:
        HopgraphError: whatever makes it impossible; what was finished before stays in the directory.
    """
    errors = console_on(stderr=True)
    wanted = Wanted(
        dataset=options.dataset.expanduser(),
        methods=settings_by_method(options),
        out=options.out.expanduser(),
        sample=parse_sample(options.sample, options.limit, options.ids),
        format_name=options.format_name,
        corpus=corpus_spec(options.corpus) if options.corpus else None,
        add_contexts=options.add_contexts,
        repeats=options.repeats,
        keep_traces=options.keep_traces,
    )
    with progress_on(errors, _STAGES) as progress:
        prepared = prepare_run(wanted, progress)
    prices = read_prices(options.prices)
    if options.max_cost is not None and not prices.prices:
        raise SettingsError("--max-cost needs --prices FILE, with the prices of your models")
    with RunWriter(wanted.out, prepared.manifest, prepared.questions) as directory:
        stopped = _run(options, prepared, directory, prices, errors)
        summary = summarise(directory)
        directory.write_summary(summary)
    print_summary(summary_console(), directory.manifest, summary)
    if stopped:
        _say_stopped(errors, stopped)


def _run(options: EvalOptions, prepared: Prepared, directory: RunWriter, prices: PriceTable, errors: Console) -> str:
    jobs = list(
        outstanding(
            jobs_of(prepared, directory, keep_traces=options.keep_traces), directory, retry_failed=options.retry_failed
        )
    )
    every = len(prepared.questions) * len(prepared.methods) * prepared.manifest.repeats
    tally = Tally(total=every, finished=every - len(jobs))
    if tally.finished:
        print_hanging(errors, Text(), Text(f"Going on: {tally.finished:,} of {every:,} are finished.", "dim"), indent=0)
    limits = Limits(options.max_calls, options.max_cost)
    engine = Engine(directory, tally, prices.price, limits, options.concurrency)
    with RunProgress(errors, tally):
        return run_in_background(engine.run(jobs))


def _say_stopped(errors: Console, why: str) -> None:
    text = f"Stopped: {on_one_line(why)}. The same command with a higher limit goes on from here."
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
