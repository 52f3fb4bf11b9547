"""What engines with workers in other processes share: portable jobs, a stream of messages, lost workers."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, cast

from hopgraph.state import Context, SettingsError, StepEvent
from hopgraph.tools.apps.evaluation.batch.outcome import Outcome
from hopgraph.tools.apps.evaluation.batch.question_job import (
    EventListener,
    QuestionJob,
    answer_question,
    failed_outcome,
)
from hopgraph.tools.io.background import background_loop, run_on

MAX_ATTEMPTS = 3
"""With how many workers a question may be lost before it counts as failed: it may be what kills them."""

JobResult = tuple[Outcome, bytes | None]
"""The outcome and the compressed record of all steps, as `answer_question` returns them."""


class WorkerLostError(Exception):
    """A worker died while it had a question; the text is one line on why."""


class WorkerPool(ABC):
    """The workers of a run, in other processes; one that dies is replaced, and its questions are given to others."""

    kind: ClassVar[str]
    """Names the workers in the outcome of a question that was lost."""
    size: int
    """How many workers share the limit of parallel calls."""

    @abstractmethod
    def stream(self, job: QuestionJob) -> AsyncGenerator[StepEvent | JobResult]:
        """Have a worker answer a question: yield each model call as it is made, at the end the result.

        Raises:
            WorkerLostError: the worker died.
            HopgraphError: as `answer` does.
        """

    async def answer(self, job: QuestionJob, listen: EventListener) -> JobResult:
        """Have a question answered, as `answer_question` does it.

        Args:
            job: what to do.
            listen: called with each model call as it is made; other steps stay in the worker.

        Returns:
            The outcome and the compressed record. A question that three workers died with is a failed outcome.

        Raises:
            HopgraphError: settings, prompts or a corpus that no question can be answered with.
            RunError: no worker can be started.
        """
        began, reason = time.perf_counter(), ""
        job = replace(job, settings=portable_settings(job.settings, self.size))
        for _ in range(MAX_ATTEMPTS):
            try:
                async with aclosing(self.stream(job)) as messages:
                    async for message in messages:
                        if isinstance(message, tuple):
                            return message
                        listen(message)
            except WorkerLostError as lost:
                reason = str(lost)
        seconds = time.perf_counter() - began
        return failed_outcome(job, f"lost with {MAX_ATTEMPTS} {self.kind}, the last time: {reason}", seconds), None


async def stream_job(job: QuestionJob) -> AsyncGenerator[StepEvent | JobResult]:
    """Answer a question in this process: yield each model call as it is made, at the end the result.

    Raises:
        HopgraphError: settings, prompts or a corpus that no question can be answered with.
    """
    here, calls = asyncio.get_running_loop(), asyncio.Queue[StepEvent | None]()

    def listen(event: StepEvent) -> None:
        if event["event"] == "asked":
            here.call_soon_threadsafe(calls.put_nowait, event)

    work = asyncio.ensure_future(run_on(background_loop(), answer_question(job, listen)))
    work.add_done_callback(lambda _: calls.put_nowait(None))
    while event := await calls.get():
        yield event
    yield work.result()


def portable_settings(settings: Context, workers: int) -> Context:
    """Return settings that mean the same in every process: nothing is left to a worker's own environment.

    Args:
        settings: a method's.
        workers: how many share the limit of parallel calls.

    Raises:
        SettingsError: they hold a ready object, such as a model; names the setting.
    """
    values = dict(settings)
    for name, value in values.items():
        parts = cast("Mapping[str, object]", value).values() if isinstance(value, Mapping) else (value,)
        for part in parts:
            if not isinstance(part, str | int | float | list | tuple | None):
                raise SettingsError(
                    f"setting {name!r}: a ready object ({type(part).__name__}) cannot go to another process; "
                    "give a spec, or use --engine local with one process"
                )
    values["max_parallel_calls"] = -(-settings.max_parallel_calls // workers)
    if settings.cache_dir:
        values["cache_dir"] = str(Path(settings.cache_dir).resolve())
    return settings.model_copy(update=values)
