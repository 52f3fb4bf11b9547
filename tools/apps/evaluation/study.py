"""Run or resume a study: each method with each model on each data set and at each point of its sweep.

    study = Study(out="runs", datasets=["sample"], methods=["one_step", "migres"], sweep={"top_k": [3, 5]})
    result = run(study)

Every combination of a data set, a model and a point is a run in its own subfolder, which `hopgraph compare` and
`hopgraph show` read. Everything is checked before the first call: settings, models, data sets, corpora, and that
existing folders were made with the same settings.
"""

import hashlib
import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hopgraph.graphs import find_method
from hopgraph.state import Context, RunError, SettingsError
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
    RunReader,
    RunWriter,
    describe_missing_gold,
    discarded_if_empty,
)
from hopgraph.tools.apps.evaluation.batch.run_setup import (
    PreparedRun,
    RunSpec,
    find_greedy_methods,
    list_jobs,
    prepare_run,
    share_corpus,
    shared_replies,
    shares_replies,
)
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.comparison import compare_by_dataset
from hopgraph.tools.apps.evaluation.cost_estimate import (
    PriceTable,
    RunEstimate,
    choose_stand_in,
    estimate_run,
    read_prices,
)
from hopgraph.tools.apps.evaluation.ranking_measures import parse_measures
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_model import find_unknown_steps
from hopgraph.tools.apps.evaluation.report.paper_tables import check_score_names
from hopgraph.tools.apps.evaluation.report.run_report import check_endings, make_report, report_files
from hopgraph.tools.apps.evaluation.step_oracle import (
    ALL_STEPS,
    ORACLE,
    asked_steps,
    choose_steps,
    gold_player,
    with_gold_player,
)
from hopgraph.tools.apps.evaluation.study_model import QuestionSet, Study, example_study
from hopgraph.tools.apps.evaluation.study_specs import list_runs, read_study
from hopgraph.tools.io.background import gather_or_cancel, run_in_background
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models.reply_cache import trim_cache
from hopgraph.tools.resources import get_model
from hopgraph.tools.retrieval.corpora import CorpusReading
from hopgraph.tools.retrieval.staging import STAGES, Progress

__all__ = ["QuestionSet", "RunObserver", "Study", "StudyResult", "example_study", "read_study", "run"]

STUDY = "study.json"
"""The file with the study in its folder."""
INDEXING_STAGES = {**STAGES, "read": "reading the corpus"}
_log = logging.getLogger(__name__)


class FinishedRun(NamedTuple):
    """A run that has ended, complete unless a limit was reached."""

    label: str
    reader: RunReader
    summary: dict[str, dict[str, Any]]
    """Method → scores, from `summarize_run`."""


@dataclass(frozen=True)
class StudyResult:
    """The result of a study."""

    runs: list[FinishedRun]
    limit: str = ""
    """The limit that stopped it, if any."""


class RunObserver:
    """Receives the progress of a study; this base class only logs notes."""

    def note(self, text: str, style: str = "yellow") -> None:
        """Report a text, with a terminal style."""
        _log.log(logging.INFO if style == "dim" else logging.WARNING, "%s", text)

    def skipped(self, what: str, reading: CorpusReading) -> None:
        """Report skipped records, if any."""
        if reading.skipped:
            self.note(f"{what}: skipped {reading.skipped:,}, the first: {reading.first_skipped[0]}")

    def progress(self, stages: Mapping[str, str]) -> AbstractContextManager[Progress | None]:
        """Follow stages of work, with the names in `stages`, during the block."""
        del stages
        return nullcontext()

    def estimated(self, estimate: RunEstimate) -> None:
        """Receive the estimated cost of the study, before its first call."""

    def answering(self, tally: RunTally) -> AbstractContextManager[None]:
        """Follow the tally of a run during the block."""
        del tally
        return nullcontext()

    def stopped(self, run: RunReader) -> None:
        """Receive a run stopped by an error."""

    def finished(self, run: FinishedRun) -> None:
        """Receive a run that is complete, or stopped by a limit."""


def run(study: Study, observer: RunObserver | None = None) -> StudyResult:
    """Run or resume a study, and score its runs. Blocks.

    SettingsError: a setting or name is invalid. CorpusError: a data set or a corpus cannot be read. RunError: a folder
    has other contents, a server is down or refuses, or a run was stopped (the others are completed first).
    """
    observer = observer or RunObserver()
    runs, done, stopped = _checked_runs(study, observer), list[FinishedRun](), list[RunError]()
    steps = [choose_steps(study.oracle, spec.methods) if study.oracle else [] for spec in runs]
    if study.oracle:  # before any paid call
        run_in_background(gather_or_cancel(_check_player(spec) for spec in runs))
    with opened_runs(study, runs, observer, partial(check_gold, needs_answers=bool(study.oracle))) as opened:
        if any(each.name for each in runs):
            text = redact(study.model_dump_json(indent=2))
            write_files({study.out.expanduser() / STUDY: text.encode()}, private=True)
        tally = RunTally(0)
        for each, played in zip(opened, steps, strict=True):
            try:
                tally = each.answer(study, observer, tally)
                tally = _play_steps(study, each, played, observer, tally)
            except RunError as error:
                observer.stopped(each.directory)
                if error.trouble or len(opened) == 1:
                    raise
                observer.note(f"Stopped: {each.spec.name}: {error}")
                stopped.append(error)
                continue
            done.append(finished := _score(study, each, observer))
            observer.finished(finished)
            if each.directory.limit:
                break
    if stopped:
        raise stopped[0]
    limit = next((each.reader.limit for each in done if isinstance(each.reader, RunWriter)), "")
    if study.tables and not limit:
        _write_tables(study, [each.reader for each in done], observer)
    return StudyResult(done, limit)


def estimate(study: Study, observer: RunObserver | None = None) -> None:
    """Report a study's estimated cost to an observer, without leaving files; raises as `run` does."""
    observer = observer or RunObserver()
    with opened_runs(study, _checked_runs(study, observer), observer, check_gold, estimate_only=True):
        pass


async def _check_player(spec: RunSpec) -> None:
    player = gold_player(spec.dataset, spec.rename)
    for name, settings in spec.methods.items():
        await get_model(settings.model_copy(update={"model": player, "models": {}}), name)


def _play_steps(
    study: Study, run: "OpenedRun", steps: Sequence[str], observer: RunObserver, tally: RunTally
) -> RunTally:
    """Repeat the run with each step in turn answered by the oracle, until a limit is reached.

    Steps without calls are skipped, as the oracle would change nothing. Replies to the same prompts are reused.
    """
    player, asked = gold_player(run.spec.dataset, run.spec.rename), asked_steps(run.directory) if steps else None
    for step in steps:
        if run.directory.limit:
            break
        if step != ALL_STEPS and asked is not None and step not in asked:
            observer.note(f"--oracle {step}: no question used this step; left out.", "dim")
            continue
        observer.note(f"With {'every step' if step == ALL_STEPS else step} answered from the gold annotations:", "dim")
        prepared, out = with_gold_player(run.prepared, step, player), run.spec.out / ORACLE / step
        with (
            discarded_if_empty(out),
            RunWriter(out, prepared.manifest, prepared.questions, replies=run.spec.out) as directory,
        ):
            jobs = _jobs(study, prepared, directory, run.prepared.methods)
            tally = replace(run, prepared=prepared, directory=directory, jobs=jobs).answer(study, observer, tally)
            run.directory.limit = directory.limit
            directory.write_summary(summarize_run(directory))
    return tally


def _score(study: Study, opened: "OpenedRun", observer: RunObserver) -> FinishedRun:
    directory = opened.directory
    if study.judge:
        audit = study.audit_judge or directory.manifest.dataset.renamed is not None
        with observer.progress({"judge": "judging"}) as progress:
            judging = partial(judge_run, directory, study.judge, second=study.second_judge, audit=audit)
            run_in_background(judging(progress=progress and partial(progress, "judge")))
    summary = summarize_run(directory)
    directory.write_summary(summary)
    return FinishedRun(opened.spec.name, directory, summary)


def _checked_runs(study: Study, observer: RunObserver) -> list[RunSpec]:
    """Return the runs of a study; SettingsError, before downloading data sets, if its tables could not be written."""
    check_endings(study.tables)
    check_score_names(study.scores)
    parse_measures(study.measures)
    runs = list_runs(study, partial(observer.note, style="dim"))
    if study.against and not all(find_method(study.against).name in spec.methods for spec in runs):
        raise SettingsError(f"against: {study.against!r} is not among the study's methods")
    return runs


def _write_tables(study: Study, readers: Sequence[RunReader], observer: RunObserver) -> None:
    comparisons = compare_by_dataset(readers, read_prices(study.prices))
    against = find_method(study.against).name if study.against else None
    report = make_report(comparisons, against, study.scores, measures=parse_measures(study.measures))
    files = report_files(report, comparisons, [study.out.expanduser() / each.expanduser() for each in study.tables])
    write_files({path: text.encode("utf-8", "replace") for path, text in files.items()})
    observer.note(f"Written: {', '.join(map(str, files))}", "dim")


def check_gold(prepared: PreparedRun, *, needs_answers: bool = False) -> None:
    """Raise a SettingsError if the corpus has no gold passage, or an oracle `needs_answers` and there are none."""
    if needs_answers and all(each.answers is None for each in prepared.questions):
        raise SettingsError(f"--oracle: {prepared.manifest.dataset.name} has no gold answers")
    corpus, facts = prepared.manifest.corpus, prepared.manifest.dataset
    if corpus.gold_by == "none" and corpus.gold_sought:
        asked = next(each for each in prepared.questions if each.gold or each.gold_titles)
        own = next((each.text for each in asked.contexts), "")
        compared = {"id": asked.gold[:1], "title": asked.gold_titles[:1], "text": (own,) if own else ()}
        names = ", ".join(f"{kind} ({found[0]!r:.60})" for kind, found in compared.items() if found)
        raise SettingsError(
            f"{corpus.retriever} has none of the {corpus.gold_sought:,} gold passages of {facts.name} by {names}, so "
            "every retrieval score would be 0; use the data set's own corpus, or leave --corpus out if passages come "
            "with the questions"
        )


@dataclass
class OpenedRun:
    """A run that is prepared, checked and locked."""

    spec: RunSpec
    prepared: PreparedRun
    directory: RunWriter
    jobs: list[QuestionJob]
    """Questions left to ask."""
    prices: PriceTable

    def answer(self, study: Study, observer: RunObserver, before: RunTally) -> RunTally:
        """Answer the remaining questions; return the session's tally, which continues that of earlier runs.

        RunError: the run was stopped. If a limit was reached, it is in the directory's `limit`.
        """
        manifest = self.prepared.manifest
        total = len(self.prepared.questions) * len(manifest.methods) * manifest.repeats
        tally = replace(before, total=total, finished=total - len(self.jobs), failed=0)
        of = f" of {self.spec.name}" if self.spec.name else ""
        if tally.finished:
            observer.note(f"Resuming: {tally.finished:,} of {total:,}{of} are finished.", "dim")
        trim_cache(shared_replies())

        def report_outage(error: str) -> None:
            observer.note(f"{error} (waiting up to {study.max_outage:g} s, see --max-outage)")

        limits = study.concurrency, study.max_calls, study.max_cost
        with _workers(study, self.prepared.methods, len(self.jobs)) as run_one, observer.answering(tally):
            engine = RunEngine(self.directory, tally, self.prices, *limits, run_one, study.max_outage, report_outage)
            self.directory.limit = run_in_background(engine.run(self.jobs))
        if self.directory.limit:
            observer.note(f"Stopped: {self.directory.limit}. The same command with a higher limit resumes from here.")
        return tally


@contextmanager
def opened_runs(
    study: Study,
    runs: Sequence[RunSpec],
    observer: RunObserver,
    check: Callable[[PreparedRun], None] = lambda _: None,
    *,
    estimate_only: bool = False,
) -> Generator[list[OpenedRun]]:
    """Prepare runs, unless `check` raises, lock their folders, and estimate their cost if prices are known.

    With `estimate_only` models are not created, and no files are left.
    """
    prices = read_prices(study.prices)
    with ExitStack() as kept:
        for each in runs:
            kept.enter_context(discarded_if_empty(each.out, estimate=estimate_only))
        prepared: list[PreparedRun] = []
        corpora: dict[str, Path] = {}
        first: dict[str, PreparedRun] = {}
        for spec in runs:
            share_corpus(corpora.setdefault(_corpus_key(spec), spec.out), spec.out)
            asked = repr((_corpus_key(spec), spec.sample, spec.format_name, spec.keep_contexts))
            alike = first.get(asked)
            prepared.append(_checked_and_prepared(spec, observer, asks_models=not estimate_only, alike=alike))
            first.setdefault(asked, prepared[-1])
            check(prepared[-1])
            if missing := describe_missing_gold(prepared[-1].manifest):
                observer.note(missing)
            if unknown := [role for each in prepared[-1].methods.values() for role in find_unknown_steps(each)]:
                observer.note(
                    f"rehearsal does not know {', '.join(unknown)}, and replies with its answer to their question. "
                    "Set `rehearsal_replies` in the method's Context to change this."
                )
        greedy = dict.fromkeys(name for each in prepared for name in find_greedy_methods(each.methods))
        if study.repeats > 1 and greedy:
            observer.note(
                f"Repeats of {', '.join(greedy)} will be nearly identical and their deviation meaningless, as the "
                "temperature is 0. For independent samples use --set temperature=0.7."
            )
        opened: list[OpenedRun] = []
        for spec, each in zip(runs, prepared, strict=True):
            directory = kept.enter_context(RunWriter(spec.out, each.manifest, each.questions))
            opened.append(OpenedRun(spec, each, directory, _jobs(study, each, directory), prices))
        specs = [each.model for one in prepared for each in one.methods.values()]
        has_price = any(isinstance(each, str) and prices.knows(each) for each in specs)
        if estimate_only or study.max_cost is not None or has_price:
            observer.estimated(_estimate(study, opened, prices))
        yield opened


@contextmanager
def answered(
    study: Study,
    spec: RunSpec,
    observer: RunObserver,
    check: Callable[[PreparedRun], None] = lambda _: None,
    *,
    estimate_only: bool = False,
) -> Generator[RunWriter | None]:
    """Run or resume a single run with its own specification; yield it, or None after an estimate."""
    with opened_runs(study, [spec], observer, check, estimate_only=estimate_only) as (opened,):
        if estimate_only:
            yield None
            return
        try:
            opened.answer(study, observer, RunTally(0))
        except RunError:
            observer.stopped(opened.directory)
            raise
        yield opened.directory


def _jobs(
    study: Study, prepared: PreparedRun, directory: RunWriter, replies_of: Mapping[str, Context] | None = None
) -> list[QuestionJob]:
    return list_jobs(
        prepared,
        directory,
        keep_traces=not study.no_traces,
        retry_failed=study.retry_failed,
        fresh=study.fresh,
        replies_of=replies_of,
    )


def _corpus_key(spec: RunSpec) -> str:
    return repr((spec.dataset, spec.corpus, spec.add_contexts, spec.rename, spec.skip_invalid))


def _checked_and_prepared(
    spec: RunSpec, observer: RunObserver, *, asks_models: bool, alike: PreparedRun | None
) -> PreparedRun:
    """Create the models, so that an invalid spec is reported before a folder is created; then prepare the run."""

    async def check_models() -> None:
        for name, settings in spec.methods.items():
            for step in settings.all_steps():
                await get_model(settings, f"{name}/{step}")

    if asks_models:
        run_in_background(check_models())
    with observer.progress(INDEXING_STAGES) as progress:
        prepared = prepare_run(spec, progress, alike)
    for what, reading in prepared.skipped.items():
        observer.skipped(what, reading)
        for note in reading.notes:
            observer.note(note)
    return prepared


def _estimate(study: Study, opened: Sequence[OpenedRun], prices: PriceTable) -> RunEstimate:
    """Estimate the remaining cost of all runs; those that share a reply cache pay for the same prompt once."""
    found: list[RunEstimate] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, each in enumerate(opened):
            methods = each.prepared.methods
            shared = not study.fresh and all(map(shares_replies, methods.values()))
            who = [[str(one.model), one.models] for one in methods.values()] if shared else number
            cache = Path(folder, hashlib.sha256(repr(who).encode()).hexdigest())
            left = Counter(job.settings.method for job in each.jobs)
            stand_in = choose_stand_in(each.spec.dataset, each.prepared.questions, rename=each.spec.rename)
            one = run_in_background(
                estimate_run(
                    methods, each.prepared.questions, left, stand_in=stand_in, prices=prices, cache_dir=str(cache)
                )
            )
            found.append(replace(one, methods=[method._replace(run=each.spec.name) for method in one.methods]))
    together = [method for one in found for method in one.methods]
    left_out = dict.fromkeys(name for one in found for name in one.left_out)
    return RunEstimate(", ".join(dict.fromkeys(one.stand_in for one in found)), together, tuple(left_out))


def _workers(study: Study, methods: Mapping[str, Context], questions: int) -> AbstractContextManager[JobRunner]:
    if study.engine == "ray" and questions:
        return ray_workers(study.concurrency)
    processes = study.processes or choose_process_count(methods, study.concurrency, questions)
    return process_workers(processes) if processes > 1 and questions else nullcontext(answer_question)
