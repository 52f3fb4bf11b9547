"""`hopgraph eval`: answer the questions of a data set by several methods, and score them."""

import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from hopgraph.graphs import GROUPS, METHODS, find_method, list_methods
from hopgraph.state import Context, RunError, SettingsError
from hopgraph.state.context import settings_in_use
from hopgraph.state.errors import did_you_mean
from hopgraph.tools.apps.cli.command_options import LIMIT_REACHED, MOST_UNUSABLE, SOME_FAILED
from hopgraph.tools.apps.cli.console import console_on, print_line, print_note, print_skipped, show_progress
from hopgraph.tools.apps.cli.evaluation.evaluation_options import EvalOptions, QuestionOptions
from hopgraph.tools.apps.cli.evaluation.run_tables import (
    print_estimate,
    print_summary,
    print_table,
    run_progress,
    summary_console,
)
from hopgraph.tools.apps.cli.settings_options import corpus_spec, settings_for
from hopgraph.tools.apps.evaluation.batch.judging import judge_run
from hopgraph.tools.apps.evaluation.batch.local_engine import (
    JobRunner,
    RunEngine,
    RunTally,
    choose_process_count,
    process_workers,
)
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob, answer_question
from hopgraph.tools.apps.evaluation.batch.ray_engine import ray_workers
from hopgraph.tools.apps.evaluation.batch.run_directory import (
    DOWNLOADED,
    RunWriter,
    describe_missing_gold,
    kept_if_answered,
)
from hopgraph.tools.apps.evaluation.batch.run_setup import (
    PreparedRun,
    RunSpec,
    find_greedy_methods,
    list_jobs,
    prepare_run,
    shared_replies,
)
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.cost_estimate import PriceTable, choose_stand_in, estimate_run, read_prices
from hopgraph.tools.apps.evaluation.datasets import HUB_PREFIX, download_dataset, parse_sample
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_model import find_unknown_steps
from hopgraph.tools.apps.evaluation.report.measure_tables import step_table
from hopgraph.tools.apps.evaluation.report.tables import frontier_table
from hopgraph.tools.apps.evaluation.step_oracle import (
    ALL,
    ORACLE,
    asked_steps,
    choose_steps,
    gold_player,
    step_costs,
    with_gold_player,
)
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.models.reply_cache import trim_cache
from hopgraph.tools.resources import get_model
from hopgraph.tools.retrieval.resolve import SAMPLE
from hopgraph.tools.retrieval.staging import STAGES
from hopgraph.tools.text.sanitize import pluralize

EVERY_METHOD = "all"
"""In `--methods`: every method that has what it needs."""
INDEXING_STAGES = {**STAGES, "read": "reading the corpus"}


def run_eval(options: EvalOptions) -> int:
    """Run or resume an evaluation and print its scores, with progress on standard error; return the exit code."""
    settings_by_method(options)  # a wrong name is reported before a data set is fetched
    dataset = dataset_file(options, options.dataset, options.out)
    options = replace(options, dataset=dataset, model=played_model(options.model, dataset))
    methods = _with_all_they_need(options)
    steps = choose_steps(options.oracle, methods) if options.oracle else []
    spec = run_spec(options, methods)
    if steps and not options.estimate_only:  # before anything is paid for
        run_in_background(_check_player(spec))
    with answered(options, spec, partial(_check_gold, needs_answers=bool(steps))) as run:
        if run is None:
            return 0
        directory = run.directory
        if options.judge:
            audit = options.audit_judge or options.rename is not None
            with show_progress({"judge": "judging"}) as progress:
                judging = partial(judge_run, directory, options.judge, second=options.second_judge, audit=audit)
                run_in_background(judging(progress=partial(progress, "judge")))
        limit = _play_steps(options, spec, run, steps) if steps else ""
        summary = summarize_run(directory)
        directory.write_summary(summary)
    print_summary(summary_console(), directory.manifest, summary)
    if steps:
        print_table(summary_console(), step_table(step_costs(directory)))
    if options.frontier:
        print_table(summary_console(), frontier_table(compare_runs([directory], read_prices(options.prices))))
    return tell_trouble(directory, ", and count as wrong") or (LIMIT_REACHED if limit else 0)


def _check_gold(prepared: PreparedRun, *, needs_answers: bool = False) -> None:
    """Refuse a corpus in which no gold passage was found: every retrieval score would be 0; and --oracle without gold.

    What plays a step needs to know the answers.
    """
    if needs_answers and all(each.answers is None for each in prepared.questions):
        raise SettingsError(f"--oracle: {prepared.manifest.dataset.name} has no gold answers to play a step from")
    corpus, facts = prepared.manifest.corpus, prepared.manifest.dataset
    if corpus.gold_by == "none" and corpus.gold_sought:
        asked = next(each for each in prepared.questions if each.gold or each.gold_titles)
        own = next((each.text for each in asked.contexts), "")
        compared = {"id": asked.gold[:1], "title": asked.gold_titles[:1], "text": (own,) if own else ()}
        names = ", ".join(f"{kind} ({found[0]!r:.60})" for kind, found in compared.items() if found)
        raise SettingsError(
            f"{corpus.retriever} has none of the {corpus.gold_sought:,} gold passages of {facts.name} by {names}, so "
            "every retrieval score would be 0; give the data set's own corpus, or leave --corpus out where the "
            "questions bring their passages"
        )


class AnsweredRun(NamedTuple):
    """A run that is finished, or stopped at a limit."""

    directory: RunWriter
    prepared: PreparedRun
    tally: RunTally


@contextmanager
def answered(
    options: EvalOptions, spec: RunSpec, check: Callable[[PreparedRun], None] = lambda _: None
) -> Generator[AnsweredRun | None]:
    """Run or resume what is specified, unless `check` refuses it; give the run, or None after an estimate."""
    if options.max_cost is not None and not read_prices(options.prices):
        raise SettingsError("--max-cost needs --prices FILE, with the prices of your models")
    with kept_if_answered(spec.out, estimate=options.estimate_only):
        prepared = _checked_and_prepared(spec, asks_models=not options.estimate_only)
        check(prepared)
        if missing := describe_missing_gold(prepared.manifest):
            print_note(missing)
        if unknown := [role for each in prepared.methods.values() for role in find_unknown_steps(each)]:
            print_note(
                f"rehearsal does not know {', '.join(unknown)}, and replies with its answer to their question. "
                "`rehearsal_replies` of the method's Context says what else to reply."
            )
        if spec.repeats > 1 and (greedy := find_greedy_methods(prepared.methods)):
            print_note(
                f"Repeats of {', '.join(greedy)} will be nearly equal, and their deviation says nothing: the "
                "temperature is 0. For independent samples give --set temperature=0.7."
            )
        with RunWriter(spec.out, prepared.manifest, prepared.questions) as directory:
            yield _answer_the_rest(options, spec, prepared, directory)


def _answer_the_rest(
    options: EvalOptions, spec: RunSpec, prepared: PreparedRun, directory: RunWriter, after: AnsweredRun | None = None
) -> AnsweredRun | None:
    """Answer what is not finished; None after an estimate.

    The limits count what another run took before, and its replies are this one's.
    """
    errors, prices = console_on(stderr=True), read_prices(options.prices)

    def tell(error: str) -> None:
        print_line(errors, f"{error} (waiting up to {options.patience:g} s, see --patience)", "yellow")

    how = {"keep_traces": not options.no_traces, "retry_failed": options.retry_failed, "fresh": options.fresh}
    jobs = list_jobs(prepared, directory, replies_of=(after.prepared if after else prepared).methods, **how)
    _print_cost(options, spec, prepared, prices, jobs)
    if options.estimate_only:
        return None
    total = len(prepared.questions) * len(prepared.methods) * prepared.manifest.repeats
    tally = replace(after.tally if after else RunTally(total), total=total, finished=total - len(jobs), failed=0)
    if tally.finished:
        print_note(f"Resuming: {tally.finished:,} of {total:,} are finished.", "dim")
    trim_cache(shared_replies())
    limits = options.concurrency, options.max_calls, options.max_cost
    with _workers(options, prepared.methods, len(jobs)) as run_one, run_progress(errors, tally):
        engine = RunEngine(directory, tally, prices, *limits, run_one, options.patience, tell)
        try:
            directory.limit = run_in_background(engine.run(jobs))
        except RunError:
            tell_trouble(directory)
            raise
    if directory.limit:
        print_note(f"Stopped: {directory.limit}. The same command with a higher limit resumes from here.")
    return AnsweredRun(directory, prepared, tally)


async def _check_player(spec: RunSpec) -> None:
    player = gold_player(spec.dataset, spec.rename)
    for name, settings in spec.methods.items():
        await get_model(settings.model_copy(update={"model": player, "models": {}}), name)


def _play_steps(options: EvalOptions, spec: RunSpec, run: AnsweredRun, steps: Sequence[str]) -> str:
    """Answer again with one step after another played from the gold annotations; return which limit ended it, if any.

    A step that nothing asked is left out: playing it changes nothing. The replies to the same prompts are the run's.
    """
    player, limit, asked = gold_player(spec.dataset, spec.rename), run.directory.limit, asked_steps(run.directory)
    for step in steps:
        if limit:
            break
        if step != ALL and asked is not None and step not in asked:
            print_note(f"--oracle {step}: no question asked this step; left out.", "dim")
            continue
        print_note(f"With {'every step' if step == ALL else step} played from the gold annotations:", "dim")
        prepared, out = with_gold_player(run.prepared, step, player), spec.out / ORACLE / step
        with (
            kept_if_answered(out),
            RunWriter(out, prepared.manifest, prepared.questions, replies=spec.out) as directory,
        ):
            if played := _answer_the_rest(options, spec, prepared, directory, run):
                limit, run = directory.limit, run._replace(tally=played.tally)
            directory.write_summary(summarize_run(directory))
    return limit


def tell_trouble(directory: RunWriter, consequence: str = "") -> int:
    """Tell which questions failed and why, or that most replies were unusable; return the exit code."""
    outcomes = [each for name in directory.manifest.methods for each in directory.latest(name).values()]
    reasons = Counter(each["error"] for each in outcomes if each["error"])
    if failed := reasons.total():
        asked = pluralize(len(directory.finished), "question")
        print_note(f"{failed:,} of {asked} failed{consequence}; the same command with --retry-failed asks them again.")
        for reason, times in reasons.most_common(3):  # `hopgraph show` has all
            print_note(f"  {times:,} × {reason}")
    usages = [each["usage"] for each in outcomes if each["usage"]]
    calls, unusable = (sum(each[name] for each in usages) for name in ("llm_calls", "parse_failures"))
    if most_unusable := 2 * unusable > calls:
        advice = "the scores say little about the model; try `hopgraph ask -v` with it"
        print_note(f"{unusable:,} of {pluralize(calls, 'reply', 'replies')} could not be used: {advice}.")
    return (failed and SOME_FAILED) or (directory.limit and LIMIT_REACHED) or (most_unusable and MOST_UNUSABLE) or 0


def dataset_file(options: QuestionOptions, dataset: Path, out: Path) -> Path:
    """Return where a data set is; one of the hub is fetched into `out`, under a name made of what was asked for."""
    given = str(dataset)
    if given.startswith(HUB_PREFIX):
        sample = parse_sample(options.sample, options.limit, skip=options.skip or 0)
        limit = sample.skip + sample.limit if sample.limit is not None and sample.seed is None else None
        asked_for = hashlib.sha256(f"{given} {limit}".encode()).hexdigest()[:8]
        return download_dataset(given, out.expanduser() / f"{DOWNLOADED}{asked_for}.jsonl", limit=limit)
    if given == SAMPLE and not dataset.exists():
        return Path(str(resources.files("hopgraph.tools.retrieval.sample")))
    return dataset.expanduser()


def played_model(model: str | None, dataset: Path) -> str | None:
    """Return a model's spec, where `rehearsal` alone plays the data set of the run."""
    name, mark, rest = (model or "").partition("?")
    return f"rehearsal:{dataset}{mark}{rest}" if name == "rehearsal" else model


def run_spec(options: EvalOptions, methods: Mapping[str, Context]) -> RunSpec:
    """Return what is to be measured, with these settings of each method."""
    same = ("format_name", "add_contexts", "repeats", "rename", "skip_bad")
    return RunSpec(
        options.dataset.expanduser(),
        methods,
        options.out.expanduser(),
        sample=parse_sample(options.sample, options.limit, options.ids or (), options.skip or 0),
        corpus=corpus_spec(options.corpus) if options.corpus else None,
        **{name: getattr(options, name) for name in same},
    )


def _checked_and_prepared(spec: RunSpec, *, asks_models: bool) -> PreparedRun:
    """Make every model that will be asked, then the corpus: a wrong spec is reported before a folder is made."""

    async def check_models() -> None:
        for name, settings in spec.methods.items():
            for step in settings.all_steps():
                await get_model(settings, f"{name}/{step}")

    if asks_models:
        run_in_background(check_models())
    with show_progress(INDEXING_STAGES) as progress:
        prepared = prepare_run(spec, progress)
    for what, reading in prepared.skipped.items():
        print_skipped(what, reading.skipped, reading.first_skipped)
    return prepared


def _print_cost(
    options: EvalOptions, spec: RunSpec, prepared: PreparedRun, prices: PriceTable, jobs: Sequence[QuestionJob]
) -> None:
    """Print an estimate of the cost where one was asked for, a limit is set, or a model has a price."""
    has_price = any(isinstance(each.model, str) and prices.knows(each.model) for each in prepared.methods.values())
    if not (options.estimate_only or options.max_cost is not None or has_price):
        return
    left = Counter(job.settings.method for job in jobs)
    stand_in = choose_stand_in(spec.dataset, prepared.questions, rename=spec.rename)
    estimate = estimate_run(prepared.methods, prepared.questions, left, stand_in=stand_in, prices=prices)
    print_estimate(console_on(stderr=not options.estimate_only), run_in_background(estimate))


def _workers(options: EvalOptions, methods: Mapping[str, Context], questions: int) -> AbstractContextManager[JobRunner]:
    if options.engine == "ray" and questions:
        return ray_workers(options.concurrency)
    processes = options.processes or choose_process_count(methods, options.concurrency, questions)
    return process_workers(processes) if processes > 1 and questions else nullcontext(answer_question)


def settings_by_method(options: EvalOptions) -> dict[str, Context]:
    """Make the settings of each method; `--set name=value` reaches all that have it, `--set method.name=value` one."""
    names = _method_names(options.methods)
    contexts: dict[str, type[Context]] = {name: METHODS[name].Context for name in names}
    read = {name: settings_in_use(each) for name, each in contexts.items()}
    assigned: dict[str, list[str]] = {name: [] for name in names}
    for assignment in options.assignments or ():
        given, equals, value = assignment.partition("=")
        if not equals:
            raise SettingsError(f"--set {assignment!r:.80}: write it as key=value or method.key=value")
        owner, dot, key = given.strip().replace("-", "_").rpartition(".")
        owners = [find_method(owner).name] if dot else names
        owners = [name for name in names if name in owners and key in read[name]]
        if not owners:
            known = sorted(set[str]().union(*read.values()))
            none = f"none of the methods {', '.join(names)} has this setting"
            raise SettingsError(f"--set {assignment!r:.80}: {none}{did_you_mean(key, known)}")
        for name in owners:
            assigned[name].append(f"{key}={value}")
    if options.preset and not any(options.preset in each.presets for each in contexts.values()):
        raise SettingsError(f"preset {options.preset!r} is unknown for {', '.join(names)}")
    made = dict[str, Context]()
    for name, each in contexts.items():
        preset = options.preset if options.preset in each.presets else None
        model = options.model if "model" in read[name] else None
        made[name] = settings_for(each, assigned[name], preset=preset, model=model)
    return made


def _with_all_they_need(options: EvalOptions) -> dict[str, Context]:
    """Make the settings of each method; of `all`, one that lacks something is left out, and that is printed."""
    made = settings_by_method(options)
    for name, lacking in [(name, each.lacks) for name, each in made.items() if each.lacks]:
        if options.methods.strip().lower() != EVERY_METHOD:
            raise SettingsError(lacking)
        print_note(f"Left out: {lacking}.", "dim")
        del made[name]
    return made


def _method_names(text: str) -> list[str]:
    if text.strip().lower() == EVERY_METHOD:
        return list(list_methods())
    names: list[str] = []
    for given in filter(None, map(str.strip, text.split(","))):
        in_group = [name for name, each in list_methods().items() if each.group == given] if given in GROUPS else []
        names += in_group or [find_method(given).name]
    if not names:
        raise SettingsError("--methods names none; give comma-separated names, papers, or all")
    return list(dict.fromkeys(names))
