"""Answer many questions concurrently, here or in workers, store each as it is finished, and stop at a limit."""

import asyncio
import gc
import random
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from hopgraph.state import QuestionError, RunError, StepEvent
from hopgraph.state.events import Asked, parse_event
from hopgraph.tools.apps.evaluation.batch.question_job import (
    EventListener,
    JobResult,
    QuestionJob,
    answer_question,
    make_outcome,
)
from hopgraph.tools.apps.evaluation.batch.run_directory import RunWriter
from hopgraph.tools.apps.evaluation.cost_estimate import PriceTable
from hopgraph.tools.io.background import gather_or_cancel

WorkerMessage = StepEvent | JobResult
"""What a worker sends: each model call as it is made, at the end the result; other steps stay in the worker."""
JobRunner = Callable[[QuestionJob, EventListener], Awaitable[JobResult]]
"""Answers one question, here or in a worker, as `answer_question` does."""
MAX_FAILURES_IN_A_ROW = 20
"""So many failures of the same kind in a row stop a run; more than the questions that are in flight by default."""
MAX_ATTEMPTS = 3
"""With how many workers a question may be lost before it counts as failed: it may be what kills them."""


@dataclass
class RunTally:
    """The progress and the costs of a run."""

    total: int
    """Questions times methods times repeats."""
    finished: int = 0
    """Those of earlier sessions included."""
    failed: int = 0
    outage_began: float | None = None
    """By `time.monotonic()`; None while questions are answered."""
    calls: int = 0
    """Model calls of this session that the cache did not answer."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """In the currency of the price table; 0 without a price."""
    parse_failures: int = 0
    began: float = field(default_factory=time.monotonic)


class LimitReached(BaseException):
    """The limits are reached; its text says which. No handler may take it for a failed question."""


@dataclass
class RunEngine:
    """One session of a run."""

    directory: RunWriter
    tally: RunTally
    prices: PriceTable
    concurrency: int = 16
    """Questions in flight at a time."""
    max_calls: int | None = None
    max_cost: float | None = None
    run_one: JobRunner = answer_question
    patience: float = 0.0
    """Seconds for which an outage is waited for before the questions that meet it fail."""
    on_outage: Callable[[str], None] = lambda _: None
    """Called with the error when an outage begins."""
    last_failure: str = ""
    in_a_row: int = 0
    """How many questions ended with the same `last_failure`."""
    usable: int = 0
    """How many model calls of this session had a usable reply."""
    unusable: int = 0
    """How many had none, however often they were repeated."""
    asked_model: str = ""
    """Which model was asked last."""

    async def run(self, jobs: Iterable[QuestionJob]) -> str:
        """Answer questions in order, `concurrency` at a time; return why it stopped early, empty when all are finished.

        What was in flight is dropped; when the run is resumed, its replies come from the cache.
        HopgraphError: nothing can be answered so. RunError: the server refuses, too many questions failed in a row, or
        no reply can be used.
        """
        waiting, resumed = iter(jobs), self.tally.finished
        try:
            with rare_collections():
                await gather_or_cancel(self._work(waiting) for _ in range(self.concurrency))
        except LimitReached as reached:
            return str(reached)
        self._check_replies(MAX_FAILURES_IN_A_ROW if resumed else 1)
        return ""

    async def _work(self, waiting: Iterator[QuestionJob]) -> None:
        for job in waiting:
            outcome, record, failure = await self._answer(job)
            # On the event loop: small, and never cut short by a cancellation.
            self.directory.add(outcome, record)
            self.tally.finished += 1
            self.tally.failed += bool(failure)
            if failure != QuestionError.__name__:  # which says nothing about other questions
                self._check(failure, outcome["error"])
            self._check_replies(MAX_FAILURES_IN_A_ROW)

    async def _answer(self, job: QuestionJob) -> JobResult:
        """Answer a question; after an outage again, since what was paid for comes from the cache."""
        since, pause = None, 0.5
        while (result := await self.run_one(job, self._on_event)).failure == "outage":
            now = time.monotonic()
            since = since or self.tally.outage_began or now
            if now >= since + self.patience:
                return result
            if self.tally.outage_began is None:
                self.tally.outage_began = now
                self.on_outage(result.outcome["error"])
            pause = min(2 * pause, 10.0)
            jittered = pause * random.uniform(0.5, 1.0)  # noqa: S311 - so that not all come back at once
            await asyncio.sleep(min(jittered, since + self.patience - now))
        self.tally.outage_began = None
        return result

    def _check(self, failure: str, error: str) -> None:
        """Stop where all further questions would fail, too."""
        self.in_a_row = self.in_a_row + 1 if failure == self.last_failure else 1
        self.last_failure = failure
        if failure == "refusal" or (failure and self.in_a_row >= MAX_FAILURES_IN_A_ROW):
            why = "" if failure == "refusal" else f" after {self.in_a_row} failures in a row, the last one"
            raise RunError(
                f"the run was stopped{why}: {error} "
                "(what is finished is kept; fix this and run the same command with --retry-failed)",
                failure if failure in ("outage", "refusal") else "",
            )

    def _check_replies(self, most: int) -> None:
        """Stop where a model gives nothing but unusable replies: the scores would be those of the fallbacks."""
        if not self.usable and self.unusable >= most:
            raise RunError(
                f"the run was stopped: none of {self.asked_model}'s replies could be used ({self.unusable:,} calls); "
                "it does not reply in the JSON that is asked for. Try `hopgraph ask` with it, or choose another model"
            )

    def _on_event(self, event: StepEvent) -> None:
        """Count a model call, by how many of its attempts were paid for, and stop at a limit."""
        if event["event"] != Asked.event or not isinstance(asked := parse_event(event), Asked):
            return
        tally = self.tally
        self.asked_model = asked.model
        self.usable += asked.outcome == "replied"
        self.unusable += asked.outcome == "fallback"
        tally.parse_failures += asked.parse_failures
        paid = asked.attempts - asked.cached
        if paid > 0:
            share = paid / asked.attempts
            prompt, completion = round(share * asked.prompt_tokens), round(share * asked.completion_tokens)
            tally.calls += paid
            tally.prompt_tokens += prompt
            tally.completion_tokens += completion
            tally.cost += self.prices.price(asked.model, prompt, completion)
        if self.max_calls is not None and tally.calls >= self.max_calls:
            raise LimitReached(f"--max-calls {self.max_calls} is reached")
        if self.max_cost is not None and tally.cost >= self.max_cost:
            raise LimitReached(f"--max-cost {self.max_cost:g} is reached")


@contextmanager
def rare_collections() -> Generator[None]:
    """Let Python look for cyclic garbage after 20,000 new objects at the earliest, not 700, while the block runs.

    At 64 questions at a time a model call took 4 to 9 % less processor so, and the process 14 MB more.
    """
    before = gc.get_threshold()
    gc.set_threshold(20_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class WorkerLostError(Exception):
    """A worker died while it had a question; the text is one line on why."""


def retry_lost(run_one: JobRunner, kind: str, size: int) -> JobRunner:
    """Wrap what has a worker answer a question, so that another one gets it when the worker is lost.

    A question that three workers of this kind died with is a failed outcome. All `size` of them share the limit of
    parallel calls.
    """

    async def answer(job: QuestionJob, listen: EventListener) -> JobResult:
        began, reason = time.perf_counter(), ""
        # Every setting is given, so that nothing is left to a worker's own environment.
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
