"""Answer the questions of a run in several processes of this machine: the same run directory, the same result.

One process makes model calls one after the other as far as its own work goes, some milliseconds each; many questions at
a time from a quick server need more than one core. The process that was started is the only one that writes results,
and keeps the order, the tally and the limits. Each other loads what the methods name for itself: models, indexes.
"""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from langsmith.utils import tracing_is_enabled  # pyright: ignore[reportUnknownVariableType] - half typed

from hopgraph.state import Context, HopgraphError, StepEvent
from hopgraph.tools.apps.evaluation.batch.question_job import EventListener, QuestionJob, failed_outcome
from hopgraph.tools.apps.evaluation.batch.worker_protocol import MAX_ATTEMPTS, JobResult, portable_settings, stream_job
from hopgraph.tools.io.background import background_loop

QUESTIONS_PER_PROCESS = 16
"""At a time: from about there on a process has no more time for another one, if calls take 0.3 s."""
MOST_PROCESSES = 8
"""Without being told: the index and the data set stand in the memory of each."""
_NOTHING_LOADED = {
    "model": ("openai:", "offline:", "rehearsal:"),
    "retriever": ("bm25:", "sample"),
    "reranker": ("lexical",),
    "entailment": ("lexical",),
}
"""By setting, the specs of what needs no weights in memory."""

_News = StepEvent | JobResult | HopgraphError | None
"""What a worker tells of a question: a model call, what came of it, or why no question can be answered; None once it
is lost."""


def choose_process_count(methods: Mapping[str, Context], concurrency: int, questions: int) -> int:
    """Choose how many processes answer where nobody says so.

    One for each 16 questions at a time, if there are so many and so many calls may be under way, but no more
    than there are cores, and 8. One alone where a setting is not known to need nothing in memory, such as
    weights, and where traces are sent: what a process has not sent yet is lost when it ends.

    Args:
        methods: the settings of each.
        concurrency: questions at a time.
        questions: how many are left to answer, those of all methods together.
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
    return all(
        spec is None or (isinstance(spec, str) and spec.startswith(_NOTHING_LOADED[name]))
        for name, specs in named.items()
        for spec in specs
    )


def _work(driver: Connection) -> None:
    """Answer questions until the driver has gone; runs in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what Ctrl-C ends

    async def answered(number: int, job: QuestionJob) -> None:
        try:
            async for news in stream_job(job):
                driver.send((number, news))
        except HopgraphError as error:
            driver.send((number, error))

    with suppress(EOFError, OSError):
        while True:
            number, job = driver.recv()
            asyncio.run_coroutine_threadsafe(answered(number, job), background_loop())
    os._exit(0)  # without waiting for what is under way


@dataclass(eq=False)
class _Worker:
    """A process, and the questions that it has."""

    process: BaseProcess
    pipe: Connection
    under_way: dict[int, asyncio.Queue[_News]] = field(default_factory=dict[int, asyncio.Queue[_News]])
    lost: bool = False


class ProcessWorkers:
    """The processes of a run; one that dies is replaced, and its questions are given to others."""

    def __init__(self, processes: int) -> None:
        """Prepare so many processes; they are started with the first question."""
        self._count = processes
        self._workers: list[_Worker] = []
        self._numbers = count()

    async def answer(self, job: QuestionJob, watch: EventListener) -> JobResult:
        """Have a question answered, as `hopgraph.tools.apps.evaluation.batch.question_job.answer_question` does it.

        Args:
            job: what to do.
            watch: called with each model call as it is made; other steps stay where they are.

        Returns:
            The outcome and the compressed record. A question that three workers died with is a failed outcome.

        Raises:
            HopgraphError: settings, prompts or a corpus that no question can be answered with.
        """
        began = time.perf_counter()
        job = replace(job, settings=portable_settings(job.settings, self._count))
        for _ in range(MAX_ATTEMPTS):
            worker, number, news = self._freest(), next(self._numbers), asyncio.Queue[_News]()
            worker.under_way[number] = news
            try:
                worker.pipe.send((number, job))
                while (came := await news.get()) is not None:
                    if isinstance(came, HopgraphError):
                        raise came
                    if isinstance(came, tuple):
                        return came
                    watch(came)
            except BrokenPipeError:
                worker.lost = True
            finally:
                worker.under_way.pop(number, None)
        seconds = time.perf_counter() - began
        return failed_outcome(
            job,
            f"lost with {MAX_ATTEMPTS} processes, which ended while they had it; if memory is short, try --processes 1",
            seconds,
        ), None

    def end(self) -> None:
        """End all processes, whatever they are doing."""
        for worker in self._workers:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()

    def _freest(self) -> _Worker:
        alive = [worker for worker in self._workers if not worker.lost]
        while len(alive) < self._count:
            alive.append(self._started())
        return min(alive, key=lambda each: len(each.under_way))

    def _started(self) -> _Worker:
        context = multiprocessing.get_context("spawn")  # a fork would share locks and loops
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _interrupts_blocked():  # a process is born deaf to Ctrl-C, which is for the driver
            process.start()
        theirs.close()  # so that its end is seen here
        worker = _Worker(process, ours)
        self._workers.append(worker)
        reading = threading.Thread(target=_read, args=(worker, asyncio.get_running_loop()), daemon=True)
        reading.start()
        return worker


def _read(worker: _Worker, loop: asyncio.AbstractEventLoop) -> None:
    """Hand on what a worker tells; runs in a thread of its own."""

    def hand_on(number: int, news: Any) -> None:
        if number in worker.under_way:  # else nobody waits for it any more
            worker.under_way[number].put_nowait(news)

    def lose() -> None:
        worker.lost = True
        for waiting in worker.under_way.values():
            waiting.put_nowait(None)

    with suppress(EOFError, OSError):
        while True:
            loop.call_soon_threadsafe(hand_on, *worker.pipe.recv())
    loop.call_soon_threadsafe(lose)


@contextmanager
def _interrupts_blocked() -> Generator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def process_workers(processes: int) -> Generator[ProcessWorkers]:
    """Prepare the processes of a run; they end with the block."""
    workers = ProcessWorkers(processes)
    try:
        yield workers
    finally:
        workers.end()
