"""Answer many questions concurrently, store each as it is finished, and stop at a limit.

Questions are answered in this process, or by an engine that has workers in others.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from hopgraph.state import RunError, StepEvent
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
MAX_INITIAL_FAILURES = 10
"""A run is given up when so many questions have failed and none has succeeded."""
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
    succeeded: bool = False
    """Whether any question of this session has."""

    async def run(self, jobs: Iterable[QuestionJob]) -> str:
        """Answer questions in order, `concurrency` at a time; return why it stopped early, empty when all are finished.

        What was in flight is dropped; when the run is resumed, its replies come from the cache.
        HopgraphError: nothing can be answered so. RunError: the first questions all failed.
        """
        waiting = iter(jobs)
        try:
            await gather_or_cancel(self._work(waiting) for _ in range(self.concurrency))
        except LimitReached as reached:
            return str(reached)
        return ""

    async def _work(self, waiting: Iterator[QuestionJob]) -> None:
        for job in waiting:
            outcome, record = await self.run_one(job, self._on_event)
            # On the event loop: small, and never cut short by a cancellation.
            self.directory.add(outcome, record)
            self.tally.finished += 1
            self.tally.failed += bool(outcome["error"])
            self.succeeded |= not outcome["error"]
            if self.tally.failed >= MAX_INITIAL_FAILURES and not self.succeeded:
                raise RunError(
                    f"the first {self.tally.failed} questions all failed, the last one with: {outcome['error']} "
                    "(fix it and run the same command with --retry-failed)"
                )

    def _on_event(self, event: StepEvent) -> None:
        """Count a model call, by how many of its attempts were paid for, and stop at a limit."""
        if event["event"] != Asked.event or not isinstance(asked := parse_event(event), Asked):
            return
        tally = self.tally
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
        return make_outcome(job, began, error=f"lost with {MAX_ATTEMPTS} {kind}, the last time: {reason}"), None

    return answer
