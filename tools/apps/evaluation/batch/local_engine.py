"""Answer many questions concurrently, store each as it is finished, and stop at a limit."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, cast

from hopgraph.state import RunError, StepEvent
from hopgraph.state.events import Asked, parse_event
from hopgraph.tools.apps.evaluation.batch.outcome import Outcome, OutcomeKey
from hopgraph.tools.apps.evaluation.batch.question_job import EventListener, QuestionJob, answer_question
from hopgraph.tools.apps.evaluation.batch.run_directory import RunWriter

JobRunner = Callable[[QuestionJob, EventListener], Awaitable[tuple[Outcome, bytes | None]]]
"""Answers one question, here or in a worker, as `answer_question` does."""
MAX_INITIAL_FAILURES = 10
"""A run is given up when so many questions have failed and none has succeeded."""


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
    by_method: Counter[str] = field(default_factory=Counter[str])
    began: float = field(default_factory=time.monotonic)

    def count_call(self, event: StepEvent, price: "CallPrice") -> None:
        """Count a model call that was paid for."""
        if event["event"] != Asked.event or not isinstance(asked := parse_event(event), Asked):
            return
        self.parse_failures += asked.parse_failures
        paid = asked.attempts - asked.cached
        if paid <= 0:
            return
        share = paid / asked.attempts
        prompt, completion = round(share * asked.prompt_tokens), round(share * asked.completion_tokens)
        self.calls += paid
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.cost += price(asked.model, prompt, completion)


class CallPrice(Protocol):
    """Prices a call."""

    def __call__(self, model: str, prompt_tokens: int, completion_tokens: int, /) -> float:
        """Return the price of a call; 0 for a model without a known price."""
        ...


@dataclass(frozen=True)
class RunLimits:
    """When a run stops before its end."""

    max_calls: int | None = None
    max_cost: float | None = None


class LimitReached(BaseException):
    """The limits are reached; its text says which. No handler may take it for a failed question."""


@dataclass
class RunEngine:
    """One session of a run."""

    directory: RunWriter
    tally: RunTally
    price: CallPrice
    limits: RunLimits = RunLimits()
    concurrency: int = 16
    """Questions in flight at a time."""
    run_one: JobRunner = answer_question

    async def run(self, jobs: Iterable[QuestionJob]) -> str:
        """Answer the questions that are not finished, in order, `concurrency` at a time.

        Returns:
            Why it stopped early; empty when everything is finished. What was in flight is dropped; when the
            run is resumed, its replies come from the cache.

        Raises:
            HopgraphError: nothing can be answered so.
            RunError: the first questions all failed.
        """
        waiting = iter(jobs)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.concurrency):
                    group.create_task(self._work(waiting))
        except BaseExceptionGroup as several:
            first = cast("BaseException", several.exceptions[0])
            if isinstance(first, LimitReached):
                return str(first)
            raise first from None
        return ""

    async def _work(self, waiting: Iterator[QuestionJob]) -> None:
        for job in waiting:
            outcome, record = await self.run_one(job, self._on_event)
            # On the event loop: small, and never cut short by a cancellation.
            self.directory.add(outcome, record)
            self.tally.finished += 1
            self.tally.by_method[job.settings.method] += 1
            if outcome["error"]:
                self.tally.failed += 1
                self._check_initial_failures(outcome)

    def _on_event(self, event: StepEvent) -> None:
        self.tally.count_call(event, self.price)
        limits, tally = self.limits, self.tally
        if limits.max_calls is not None and tally.calls >= limits.max_calls:
            raise LimitReached(f"--max-calls {limits.max_calls} is reached")
        if limits.max_cost is not None and tally.cost >= limits.max_cost:
            raise LimitReached(f"--max-cost {limits.max_cost:g} is reached")

    def _check_initial_failures(self, outcome: Outcome) -> None:
        if self.tally.failed >= MAX_INITIAL_FAILURES and self.tally.failed == sum(self.tally.by_method.values()):
            raise RunError(
                f"the first {self.tally.failed} questions all failed, the last one with: {outcome['error']} "
                "(fix it and run the same command with --retry-failed)"
            )


def unfinished_jobs(jobs: Iterable[QuestionJob], directory: RunWriter, *, retry_failed: bool) -> Iterator[QuestionJob]:
    """Yield the jobs that are not finished, and with `retry_failed` those that failed."""
    for job in jobs:
        failed = directory.finished.get(OutcomeKey(job.settings.method, job.question.id, job.repeat))
        if failed is None or (failed and retry_failed):
            yield job
