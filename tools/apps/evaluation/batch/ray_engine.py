"""Answer the questions of a run on a Ray cluster: the same run directory, the same resume, the same result.

The driver, the process that was started, alone writes results, and keeps the order, the tally and the limits, as
without Ray. Workers send each paid call and the outcome back. In addition to a question they need:

* the run's folder with the corpus, and the reply cache (`--set cache_dir=DIR`), under the same paths. Machines that
  share no cache keep replies each for itself; a question that comes to another machine is then paid for again;
* the files of custom methods, under the same paths, or their packages;
* keys, in the environment of each machine, where `ray start` is called. None is sent: what a driver sends to a
  cluster can be read by everyone on it. A cluster that is started here inherits the driver's environment.
"""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from hopgraph.graphs import METHODS, find_method
from hopgraph.state import RunError, SettingsError, StepEvent
from hopgraph.state.events import Asked
from hopgraph.tools.apps.evaluation.batch.local_engine import JobRunner, WorkerLostError, WorkerMessage, retry_lost
from hopgraph.tools.apps.evaluation.batch.question_job import EventListener, JobResult, QuestionJob, answer_question
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact

_START_SECONDS = 600.0
"""Seconds to wait until a cluster has room for one worker; autoscaling ones need minutes."""
_CONNECT_SECONDS = 10.0
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Local models can use the GPU, although a worker does not claim one.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_LOCAL_ENVIRONMENT = {
    # Whatever its name says: with 0 a cluster listens on loopback, on Linux too.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",  # Ray's own choice, but without a line about it on the terminal
}


class Worker:
    """An actor: lives in its own process, on any machine of the cluster."""

    def __init__(self, folder: str, methods: Sequence[str]) -> None:
        """Change to the driver's folder, so that relative paths mean the same, and load custom methods."""
        with suppress(OSError):
            os.chdir(folder)
        for each in methods:
            find_method(each)

    async def versions(self) -> tuple[str, str]:
        """Return the machine's name and its version of hopgraph."""
        return socket.gethostname(), version("hopgraph")

    async def answer(self, job: QuestionJob) -> AsyncGenerator[WorkerMessage]:
        """Answer a question as `answer_question` does, on the background loop, which has the model connections."""
        here, calls = asyncio.get_running_loop(), asyncio.Queue[StepEvent | None]()

        def listen(event: StepEvent) -> None:
            if event["event"] == Asked.event:
                here.call_soon_threadsafe(calls.put_nowait, event)

        work = asyncio.ensure_future(run_on(background_loop(), answer_question(job, listen)))
        work.add_done_callback(lambda _: calls.put_nowait(None))
        while event := await calls.get():
            yield event
        yield work.result()


@dataclass(eq=False)
class _Actor:
    handle: Any
    versions: Any
    ready: asyncio.Task[None]
    in_flight: int = 0


class _ActorPool:
    """Workers on a Ray cluster, one per CPU, at most one per question in flight; started with the first question."""

    def __init__(self, ray: Any, concurrency: int) -> None:
        self._ray = ray
        self.size = max(1, min(int(ray.cluster_resources().get("CPU", 1)), concurrency))
        # One worker may be the only one for a while: it takes all.
        self._new_actor = ray.remote(num_cpus=1, max_concurrency=concurrency + 1)(Worker)
        self._actors: list[_Actor] = []

    async def answer(self, job: QuestionJob, listen: EventListener) -> JobResult:
        """Have the least busy worker answer a question; WorkerLostError if it died."""
        errors, actor = self._ray.exceptions, await self._least_busy()
        actor.in_flight += 1
        try:
            async for reference in actor.handle.answer.remote(job):
                message: WorkerMessage = await reference
                if isinstance(message, tuple):
                    return message
                listen(message)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:
            if actor in self._actors:  # the first of its questions to notice
                self._actors.remove(actor)
            raise WorkerLostError(_first_line(error)) from None
        finally:
            actor.in_flight -= 1
        raise WorkerLostError("it ended without a result")

    async def _least_busy(self) -> _Actor:
        while len(self._actors) < self.size:
            handle = self._new_actor.remote(os.getcwd(), METHODS.external())
            versions = handle.versions.remote()
            self._actors.append(_Actor(handle, versions, asyncio.create_task(self._check_version(versions))))
        starting = [each.ready for each in self._actors]
        done, _ = await asyncio.wait(starting, timeout=_START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise RunError(f"the Ray cluster had no free CPU for a worker within {_START_SECONDS:.0f} seconds")
        for each in done:
            each.result()
        return min((each for each in self._actors if each.ready.done()), key=lambda each: each.in_flight)

    def wait_for_starting(self) -> None:
        """Wait for workers that are still starting: Ray kills a process that learns of one after shutdown."""
        if starting := [each.versions for each in self._actors if not each.ready.done()]:
            self._ray.wait(starting, num_returns=len(starting), timeout=_START_SECONDS)

    async def _check_version(self, versions: Any) -> None:
        try:
            machine, theirs = await versions
        except self._ray.exceptions.RayError as error:
            raise RunError(
                f"a Ray worker cannot start: {_first_line(error)} "
                "(every machine of the cluster needs the same hopgraph and extras)"
            ) from None
        if theirs != version("hopgraph"):
            raise RunError(f"{machine} has hopgraph {theirs}, and {version('hopgraph')} is needed; install that")


@contextmanager
def ray_workers(concurrency: int) -> Generator[JobRunner]:
    """Join the cluster that RAY_ADDRESS names, else start one on this machine for the duration of the block.

    `concurrency` questions are in flight, over all workers. SpecError: Ray is not installed. SettingsError: RAY_ADDRESS
    is one of a Ray client. RunError: the cluster cannot be reached.
    """
    address = os.environ.get("RAY_ADDRESS", "").strip() or "local"  # and no other cluster that happens to run here
    if address.startswith("ray://"):
        raise SettingsError(
            f"RAY_ADDRESS={address}: a Ray client is too far away; run hopgraph on a machine of the cluster, "
            "with RAY_ADDRESS=HOST:6379 or auto"
        )
    for name, value in (_ENVIRONMENT | (_LOCAL_ENVIRONMENT if address == "local" else {})).items():
        os.environ.setdefault(name, value)  # read as Ray is imported, and by what it starts
    ray = require("ray", "ray")
    try:
        place = urlsplit(f"//{address}")
        if place.hostname and place.port:  # Ray itself would try for over a minute
            socket.create_connection((place.hostname, place.port), timeout=_CONNECT_SECONDS).close()
        ray.init(address, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise RunError(f"the Ray cluster {address!r} cannot be used: {_first_line(error)}") from None
    try:
        pool = _ActorPool(ray, concurrency)
        yield retry_lost(pool.answer, "Ray workers", pool.size)
        pool.wait_for_starting()
    finally:
        ray.shutdown()


def _first_line(error: BaseException) -> str:
    return redact(next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__))[:300]
