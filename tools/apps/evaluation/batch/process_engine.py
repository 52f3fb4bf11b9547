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
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from langsmith.utils import tracing_is_enabled  # pyright: ignore[reportUnknownVariableType] - half typed

from hopgraph.state import Context, HopgraphError, StepEvent
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob
from hopgraph.tools.apps.evaluation.batch.worker_protocol import JobResult, WorkerLostError, WorkerPool, stream_job
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

_Message = StepEvent | JobResult | HopgraphError | None
"""From a worker: a model call, the result, or why no question can be answered; None once the worker is lost."""


def choose_process_count(methods: Mapping[str, Context], concurrency: int, questions: int) -> int:
    """Choose how many processes answer where --processes is not given.

    One for each 16 questions in flight, as far as there are questions and calls are allowed, but no more than
    cores, and at most 8. Only one where a setting may load weights or an index into memory, and where traces are
    sent: what a process has not sent yet is lost when it ends.

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

    async def answer(number: int, job: QuestionJob) -> None:
        try:
            async for message in stream_job(job):
                driver.send((number, message))
        except HopgraphError as error:
            driver.send((number, error))

    with suppress(EOFError, OSError):
        while True:
            number, job = driver.recv()
            asyncio.run_coroutine_threadsafe(answer(number, job), background_loop())
    os._exit(0)  # without waiting for what is in flight


@dataclass(eq=False)
class _Process:
    """A worker process, and its questions in flight."""

    process: BaseProcess
    pipe: Connection
    in_flight: dict[int, asyncio.Queue[_Message]] = field(default_factory=dict[int, asyncio.Queue[_Message]])
    lost: bool = False


class ProcessWorkers(WorkerPool):
    """Worker processes on this machine; they are started with the first question."""

    kind = "processes"

    def __init__(self, processes: int) -> None:
        """Prepare a pool of this size."""
        self.size = processes
        self._processes: list[_Process] = []
        self._numbers = count()

    async def stream(self, job: QuestionJob) -> AsyncGenerator[StepEvent | JobResult]:
        """Have the least busy process answer a question; see `WorkerPool.stream`."""
        worker, number, inbox = self._least_busy(), next(self._numbers), asyncio.Queue[_Message]()
        worker.in_flight[number] = inbox
        try:
            worker.pipe.send((number, job))
            while (message := await inbox.get()) is not None:
                if isinstance(message, HopgraphError):
                    raise message
                yield message
        except BrokenPipeError:
            worker.lost = True
        finally:
            worker.in_flight.pop(number, None)
        raise WorkerLostError("it ended; if memory is short, try --processes 1")

    def close(self) -> None:
        """Kill all processes."""
        for worker in self._processes:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()

    def _least_busy(self) -> _Process:
        alive = [worker for worker in self._processes if not worker.lost]
        while len(alive) < self.size:
            alive.append(self._start())
        return min(alive, key=lambda each: len(each.in_flight))

    def _start(self) -> _Process:
        context = multiprocessing.get_context("spawn")  # a fork would share locks and loops
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _interrupts_blocked():  # the child starts with SIGINT blocked: Ctrl-C is for the driver
            process.start()
        theirs.close()  # so that its end is seen here
        worker = _Process(process, ours)
        self._processes.append(worker)
        threading.Thread(target=_receive, args=(worker, asyncio.get_running_loop()), daemon=True).start()
        return worker


def _receive(worker: _Process, loop: asyncio.AbstractEventLoop) -> None:
    """Deliver a worker's messages to the questions in flight; runs in a thread of its own."""

    def deliver(number: int, message: Any) -> None:
        if number in worker.in_flight:  # else nothing waits for it any more
            worker.in_flight[number].put_nowait(message)

    def lose() -> None:
        worker.lost = True
        for inbox in worker.in_flight.values():
            inbox.put_nowait(None)

    with suppress(EOFError, OSError):
        while True:
            loop.call_soon_threadsafe(deliver, *worker.pipe.recv())
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
        workers.close()
