"""Answer the questions of a run on a Ray cluster, with the same run directory, resume and results as without Ray.

Only the driver, the process started by the user, writes results and keeps the order, the tally and the limits. Workers
send back each paid call and the outcome. Each machine needs:

* the run's folder with the corpus, and the reply cache (`--set cache_dir=DIR`), under the same paths. Without a shared
  cache each machine keeps its own, and a question retried on another machine is paid for again;
* the files of custom methods, under the same paths, or their packages;
* API keys in the environment in which `ray start` is called. The driver does not send them, as everyone on the cluster
  could read them. A cluster that is started here inherits the driver's environment.
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
"""Seconds to wait for a cluster to have room for one worker; autoscaling takes minutes."""
_CONNECT_SECONDS = 10.0
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Let local models use the GPU although workers do not claim one.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_LOCAL_ENVIRONMENT = {
    # Despite its name: 0 makes a cluster listen on loopback, also on Linux.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",  # Ray's default, without its message on the terminal
}


class Worker:
    """An actor in its own process, on any machine of the cluster."""

    def __init__(self, folder: str, methods: Sequence[str]) -> None:
        """Change to the driver's folder, for relative paths, and load custom methods."""
        with suppress(OSError):
            os.chdir(folder)
        for each in methods:
            find_method(each)

    async def versions(self) -> tuple[str, str]:
        """Return the machine's name and its version of hopgraph."""
        return socket.gethostname(), version("hopgraph")

    async def answer(self, job: QuestionJob) -> AsyncGenerator[WorkerMessage]:
        """Answer a question on the background loop, which has the model connections; yield calls, then the result."""
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
        # A worker may be the only one for a while, and then gets all questions.
        self._new_actor = ray.remote(num_cpus=1, max_concurrency=concurrency + 1)(Worker)
        self._actors: list[_Actor] = []

    async def answer(self, job: QuestionJob, listen: EventListener) -> JobResult:
        """Answer a question on the least busy worker; WorkerLostError if it died."""
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
            if actor in self._actors:  # else another of its questions has removed it
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
        """Wait for workers that are still starting, as Ray kills the driver if one starts after shutdown."""
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
    """Join the cluster at RAY_ADDRESS, else start one on this machine for the duration of the block.

    `concurrency` is the number of questions in flight over all workers. SpecError: Ray is not installed. SettingsError:
    RAY_ADDRESS is a Ray client address. RunError: the cluster cannot be reached.
    """
    address = os.environ.get("RAY_ADDRESS", "").strip() or "local"  # not a cluster that happens to run here
    if address.startswith("ray://"):
        raise SettingsError(
            f"RAY_ADDRESS={address}: the Ray client is not supported; run hopgraph on a machine of the cluster, "
            "with RAY_ADDRESS=HOST:6379 or auto"
        )
    for name, value in (_ENVIRONMENT | (_LOCAL_ENVIRONMENT if address == "local" else {})).items():
        os.environ.setdefault(name, value)  # read when Ray is imported, and by its processes
    ray = require("ray", "ray")
    try:
        place = urlsplit(f"//{address}")
        if place.hostname and place.port:  # Ray itself would retry for over a minute
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
