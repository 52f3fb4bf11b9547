"""Answer the questions of a run in several processes of this machine: the same run directory, the same result.

A process spends some milliseconds of its own on each model call, so many questions at a time on a fast server need more
than one core. Only the process that was started, the driver, writes results and keeps the order, the tally and the
limits. Each worker loads the models and indexes that the methods name.
"""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from langsmith.utils import tracing_is_enabled  # pyright: ignore[reportUnknownVariableType] - half typed

from hopgraph.graphs import METHODS, find_method
from hopgraph.state import Context, HopgraphError, StepEvent
from hopgraph.state.events import Asked
from hopgraph.tools.apps.evaluation.batch.local_engine import (
    JobRunner,
    WorkerLostError,
    WorkerMessage,
    rare_collections,
    retry_lost,
)
from hopgraph.tools.apps.evaluation.batch.question_job import EventListener, JobResult, QuestionJob, answer_question
from hopgraph.tools.io.background import background_loop

QUESTIONS_PER_PROCESS = 16
"""At a time: from about there on a process has no more time for another one, if calls take 0.3 s."""
MOST_PROCESSES = 8
"""The default's upper bound: each process holds the index and the data set in memory."""
_NOTHING_LOADED = {
    "model": ("openai:", "offline:", "rehearsal:"),
    "retriever": ("bm25:", "sample"),
    "reranker": ("lexical",),
    "entailment": ("lexical",),
}
"""By setting, the specs of what needs no weights in memory."""

_Message = WorkerMessage | HopgraphError | None
"""An error is why no question can be answered; None comes once the worker is lost."""


def choose_process_count(methods: Mapping[str, Context], concurrency: int, questions: int) -> int:
    """Choose how many processes answer where --processes is not given.

    One for each 16 questions in flight, as far as `questions` are left (of all methods together) and calls are
    allowed, but no more than cores, and at most 8. Only one where a setting may load weights or an index into memory,
    and where traces are sent: what a process has not sent yet is lost when it ends.
    """
    if tracing_is_enabled() or not all(_loads_nothing(settings) for settings in methods.values()):
        return 1
    at_once = min(concurrency, questions, *(settings.max_parallel_calls for settings in methods.values()))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_PROCESSES, at_once // QUESTIONS_PER_PROCESS))


def _loads_nothing(settings: Context) -> bool:
    named: dict[str, list[Any]] = {name: [getattr(settings, name)] for name in _NOTHING_LOADED}
    named["model"] += settings.models.values()
    named["retriever"].append(settings.second_retriever)
    specs = [(name, str(spec)) for name, each in named.items() for spec in each if spec is not None]
    return all(spec.startswith(_NOTHING_LOADED[name]) for name, spec in specs)


def _work(driver: Connection, methods: Sequence[str]) -> None:
    """Answer questions by methods, those of others among them, until the driver has gone; runs in its own process."""
    for each in methods:
        find_method(each)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what Ctrl-C ends

    async def answer(number: int, job: QuestionJob) -> None:
        def report(event: StepEvent) -> None:
            if event["event"] == Asked.event:
                driver.send((number, event))

        try:
            driver.send((number, await answer_question(job, report)))
        except HopgraphError as error:
            driver.send((number, error))

    with rare_collections(), suppress(EOFError, OSError):
        while True:
            number, job = driver.recv()
            asyncio.run_coroutine_threadsafe(answer(number, job), background_loop())
    os._exit(0)  # without waiting for what is in flight


class _Process:
    """A worker process of this machine."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would share locks and loops
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, METHODS.of_others()), daemon=True)
        with ExitStack() as after:
            if hasattr(signal, "pthread_sigmask"):  # the child starts with SIGINT blocked: Ctrl-C is for the driver
                before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                after.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)
            self.process.start()
        theirs.close()  # so that its end is seen here
        self.in_flight: dict[int, asyncio.Queue[_Message]] = {}
        self.numbers = count()
        self.lost = False
        threading.Thread(target=self._receive, args=(asyncio.get_running_loop(),), daemon=True).start()

    def _receive(self, loop: asyncio.AbstractEventLoop) -> None:
        """Deliver its messages to the questions in flight; runs in a thread of its own."""

        def deliver(number: int, message: Any) -> None:
            if number in self.in_flight:  # else nothing waits for it any more
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
        """Have it answer a question; WorkerLostError where it died."""
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
    """Prepare processes, which start with the first question, are replaced when lost, and end with the block."""
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
