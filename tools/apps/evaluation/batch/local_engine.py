"""Answer many questions concurrently, in this process or in workers; store each when finished; stop at a limit."""

import asyncio
import gc
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from langsmith.utils import tracing_is_enabled  # pyright: ignore[reportUnknownVariableType] - half typed

from hopgraph.graphs import METHODS, find_method
from hopgraph.state import Context, HopgraphError, QuestionError, RunError, StepEvent
from hopgraph.state.events import Asked, parse_event
from hopgraph.tools.apps.evaluation.batch.question_job import (
    EventListener,
    JobResult,
    QuestionJob,
    answer_question,
    make_outcome,
)
from hopgraph.tools.apps.evaluation.batch.run_directory import RunWriter
from hopgraph.tools.apps.evaluation.batch.scores import score_outcome
from hopgraph.tools.apps.evaluation.cost_estimate import PriceTable, paid_part
from hopgraph.tools.io.background import background_loop, gather_or_cancel

WorkerMessage = StepEvent | JobResult
"""A message of a worker: each model call as it happens, then the result. Other events stay in the worker."""
JobRunner = Callable[[QuestionJob, EventListener], Awaitable[JobResult]]
"""Answers one question, here or in a worker, as `answer_question` does."""
MAX_FAILURES_IN_A_ROW = 20
"""Consecutive failures of the same kind that stop a run; more than the default number of questions in flight."""
MAX_ATTEMPTS = 3
"""Workers that may be lost on a question before it counts as failed, as it may be the cause."""


@dataclass
class RunTally:
    """The progress and costs of a run."""

    total: int
    """Questions times methods times repeats."""
    finished: int = 0
    """Including earlier sessions."""
    failed: int = 0
    outage_began: float | None = None
    """Start of the outage by `time.monotonic()`; None while questions are being answered."""
    calls: int = 0
    """Model calls of this session that the cache did not answer."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """In the currency of the price table; 0 without a price."""
    parse_failures: int = 0
    began: float = field(default_factory=time.monotonic)


class LimitReached(BaseException):
    """A limit, named in the message, is reached; a BaseException, so that it does not count as a failed question."""


@dataclass
class RunEngine:
    """One session of a run."""

    directory: RunWriter
    tally: RunTally
    prices: PriceTable
    concurrency: int = 16
    """Maximum questions in flight."""
    max_calls: int | None = None
    max_cost: float | None = None
    run_one: JobRunner = answer_question
    max_outage: float = 0.0
    """Seconds to wait for the end of an outage before the affected questions fail."""
    on_outage: Callable[[str], None] = lambda _: None
    """Called with the error when an outage begins."""
    last_failure: str = ""
    in_a_row: int = 0
    """Number of consecutive questions that ended with `last_failure`."""
    usable: int = 0
    """Number of model calls of this session with a usable reply."""
    unusable: int = 0
    asked_model: str = ""
    """The model called last."""

    async def run(self, jobs: Iterable[QuestionJob]) -> str:
        """Answer questions in order, `concurrency` at a time; return why the run stopped early, or an empty string.

        Questions in flight at that point are dropped; on resume their replies come from the cache. HopgraphError: no
        question can be answered with these settings. RunError: the server refuses, too many consecutive questions
        failed, or no reply is usable.
        """
        waiting, resumed = iter(jobs), self.tally.finished
        try:
            with raised_gc_threshold():
                await gather_or_cancel(self._work(waiting) for _ in range(self.concurrency))
        except LimitReached as reached:
            return str(reached)
        self._check_replies(MAX_FAILURES_IN_A_ROW if resumed else 1)
        return ""

    async def _work(self, waiting: Iterator[QuestionJob]) -> None:
        for job in waiting:
            outcome, record, failure = await self._answer(job)
            outcome["scores"] = score_outcome(outcome, job.question, self.directory.manifest.corpus.gold_by)
            # On the event loop: writes are small, and a cancellation cannot interrupt them.
            self.directory.add(outcome, record)
            self.tally.finished += 1
            self.tally.failed += bool(failure)
            if failure != QuestionError.__name__:  # a QuestionError does not affect other questions
                self._check(failure, outcome["error"])
            self._check_replies(MAX_FAILURES_IN_A_ROW)

    async def _answer(self, job: QuestionJob) -> JobResult:
        """Answer a question, retrying after an outage; calls paid for come from the cache."""
        since, pause = None, 0.5
        while (result := await self.run_one(job, self._on_event)).failure == "outage":
            now = time.monotonic()
            since = since or self.tally.outage_began or now
            if now >= since + self.max_outage:
                return result
            if self.tally.outage_began is None:
                self.tally.outage_began = now
                self.on_outage(result.outcome["error"])
            pause = min(2 * pause, 10.0)
            jittered = pause * random.uniform(0.5, 1.0)  # noqa: S311 - so that not all retry at once
            await asyncio.sleep(min(jittered, since + self.max_outage - now))
        self.tally.outage_began = None
        return result

    def _check(self, failure: str, error: str) -> None:
        """Raise a RunError if all further questions would fail, too."""
        self.in_a_row = self.in_a_row + 1 if failure == self.last_failure else 1
        self.last_failure = failure
        if failure == "refusal" or (failure and self.in_a_row >= MAX_FAILURES_IN_A_ROW):
            why = "" if failure == "refusal" else f" after {self.in_a_row} failures in a row, the last one"
            raise RunError(
                f"the run was stopped{why}: {error} "
                "(finished work is kept; fix this and run the same command with --retry-failed)",
                failure if failure in ("outage", "refusal") else "",
            )

    def _check_replies(self, most: int) -> None:
        """Raise a RunError if all replies are unusable, as the scores would be those of the fallbacks."""
        if not self.usable and self.unusable >= most:
            raise RunError(
                f"the run was stopped: {self.asked_model} never returned valid JSON ({self.unusable:,} calls); "
                "try `hopgraph ask` with it, or choose another model"
            )

    def _on_event(self, event: StepEvent) -> None:
        """Count a model call's paid attempts; raise LimitReached at a limit."""
        if event["event"] != Asked.event or not isinstance(asked := parse_event(event), Asked):
            return
        tally = self.tally
        self.asked_model = asked.model
        self.usable += asked.outcome == "replied"
        self.unusable += asked.outcome == "fallback"
        tally.parse_failures += asked.parse_failures
        paid, prompt, completion = paid_part(asked)
        if paid > 0:
            tally.calls += paid
            tally.prompt_tokens += prompt
            tally.completion_tokens += completion
            tally.cost += self.prices.price(asked.model, prompt, completion)
        if self.max_calls is not None and tally.calls >= self.max_calls:
            raise LimitReached(f"--max-calls {self.max_calls} is reached")
        if self.max_cost is not None and tally.cost >= self.max_cost:
            raise LimitReached(f"--max-cost {self.max_cost:g} is reached")


@contextmanager
def raised_gc_threshold() -> Generator[None]:
    """Collect cyclic garbage after 20,000 new objects instead of 700 within the block.

    At 64 questions in flight this saved a quarter of the CPU time, for 14 MB more memory.
    """
    before = gc.get_threshold()
    gc.set_threshold(20_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class WorkerLostError(Exception):
    """A worker died while answering a question; the message has the reason in one line."""


def retry_lost(run_one: JobRunner, kind: str, size: int) -> JobRunner:
    """Retry a question on another worker if one is lost, up to three; the `size` workers share the call limit."""

    async def answer(job: QuestionJob, listen: EventListener) -> JobResult:
        began, reason = time.perf_counter(), ""
        # Pass every setting explicitly, so that none comes from a worker's environment.
        given = {**dict(job.settings), "max_parallel_calls": -(-job.settings.max_parallel_calls // size)}
        job = replace(job, settings=job.settings.model_copy(update=given))
        for _ in range(MAX_ATTEMPTS):
            try:
                return await run_one(job, listen)
            except WorkerLostError as lost:
                reason = str(lost)
        outcome = make_outcome(job, began, error=f"lost with {MAX_ATTEMPTS} {kind}, the last time: {reason}")
        return JobResult(outcome, None, WorkerLostError.__name__)

    return answer


QUESTIONS_PER_PROCESS = 16
"""In flight: at about this number a process is fully busy if calls take 0.3 s."""
MAX_PROCESSES = 8
"""Upper bound of the default, as each process holds the index and the data set in memory."""
_LIGHT_SPECS = {
    "model": ("openai:", "offline:", "rehearsal:"),
    "retriever": ("bm25:", "sample"),
    "reranker": ("lexical",),
    "entailment": ("lexical",),
}
"""Setting → specs that keep no weights in memory."""

_Message = WorkerMessage | HopgraphError | None
"""An error means that no question can be answered; None means that the worker is lost."""


def choose_process_count(methods: Mapping[str, Context], concurrency: int, questions: int) -> int:
    """Choose the number of processes if --processes is not set.

    One per 16 questions in flight, limited by the `questions` left (of all methods) and the calls allowed. Only one if
    a setting may load weights or an index into memory, or if traces are sent, as a process loses unsent traces when it
    ends.
    """
    if tracing_is_enabled() or not all(_is_light(settings) for settings in methods.values()):
        return 1
    at_once = min(concurrency, questions, *(settings.max_parallel_calls for settings in methods.values()))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MAX_PROCESSES, at_once // QUESTIONS_PER_PROCESS))


def _is_light(settings: Context) -> bool:
    named: dict[str, list[Any]] = {name: [getattr(settings, name)] for name in _LIGHT_SPECS}
    named["model"] += settings.models.values()
    named["retriever"].append(settings.second_retriever)
    specs = [(name, str(spec)) for name, each in named.items() for spec in each if spec is not None]
    return all(spec.startswith(_LIGHT_SPECS[name]) for name, spec in specs)


def _work(driver: Connection, methods: Sequence[str]) -> None:
    """Answer questions until the driver is gone; runs in its own process."""
    for each in methods:
        find_method(each)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver handles Ctrl-C

    async def answer(number: int, job: QuestionJob) -> None:
        def report(event: StepEvent) -> None:
            if event["event"] == Asked.event:
                driver.send((number, event))

        try:
            driver.send((number, await answer_question(job, report)))
        except HopgraphError as error:
            driver.send((number, error))

    with raised_gc_threshold(), suppress(EOFError, OSError):
        while True:
            number, job = driver.recv()
            asyncio.run_coroutine_threadsafe(answer(number, job), background_loop())
    os._exit(0)  # without waiting for questions in flight


class _Process:
    """A local worker process."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would share locks and loops
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, METHODS.external()), daemon=True)
        with ExitStack() as after:
            if hasattr(signal, "pthread_sigmask"):  # start the child with SIGINT blocked: the driver handles Ctrl-C
                before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                after.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)
            self.process.start()
        theirs.close()  # so that we notice when the child closes its end
        self.in_flight: dict[int, asyncio.Queue[_Message]] = {}
        self.numbers = count()
        self.lost = False
        threading.Thread(target=self._receive, args=(asyncio.get_running_loop(),), daemon=True).start()

    def _receive(self, loop: asyncio.AbstractEventLoop) -> None:
        """Deliver the process's messages to the questions in flight; runs in its own thread."""

        def deliver(number: int, message: Any) -> None:
            if number in self.in_flight:  # else its caller has stopped waiting
                self.in_flight[number].put_nowait(message)

        def lose() -> None:
            self.lost = True
            for inbox in self.in_flight.values():
                inbox.put_nowait(None)

        with suppress(EOFError, OSError):
            while True:
                loop.call_soon_threadsafe(deliver, *self.pipe.recv())
        loop.call_soon_threadsafe(lose)

    async def answer(self, job: QuestionJob, listen: EventListener) -> JobResult:
        """Answer a question in the process; WorkerLostError if it died."""
        number = next(self.numbers)
        inbox = self.in_flight[number] = asyncio.Queue[_Message]()
        try:
            self.pipe.send((number, job))
            while (message := await inbox.get()) is not None:
                if isinstance(message, HopgraphError):
                    raise message
                if isinstance(message, tuple):
                    return message
                listen(message)
        except BrokenPipeError:
            self.lost = True
        finally:
            del self.in_flight[number]
        raise WorkerLostError("it ended; if memory is short, try --processes 1")


@contextmanager
def process_workers(processes: int) -> Generator[JobRunner]:
    """Yield a runner on processes, which start with the first question and are replaced when lost."""
    started: list[_Process] = []

    async def answer(job: QuestionJob, listen: EventListener) -> JobResult:
        while sum(not each.lost for each in started) < processes:
            started.append(_Process())
        alive = (each for each in started if not each.lost)
        return await min(alive, key=lambda each: len(each.in_flight)).answer(job, listen)

    try:
        yield retry_lost(answer, "processes", processes)
    finally:
        for worker in started:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()
