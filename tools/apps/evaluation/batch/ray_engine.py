"""Answer the questions of a run on a Ray cluster: the same run directory, the same resume, the same result.

The process that was started, here called the driver, is the only one that writes results, and keeps the order,
the tally and the limits; its `Engine` is the same as without Ray. Workers answer single questions and send each
paid call and the outcome back. What a worker needs beside its question it must find by itself:

* the run's folder with the reply cache and the corpus, under the same path. Machines that share no file system
  keep replies each for itself; a question that comes to another machine is then paid for again;
* keys, in the environment of each machine, where `ray start` is called. None is sent: what a driver sends to a
  cluster can be read by everyone on it. A cluster that is started here inherits the driver's environment.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, cast
from urllib.parse import urlsplit

from hopgraph.state import RunError, SettingsError, StepEvent
from hopgraph.tools.apps.evaluation.batch.question_job import EventListener, QuestionJob, failed_outcome
from hopgraph.tools.apps.evaluation.batch.worker_protocol import MAX_ATTEMPTS, JobResult, portable_settings, stream_job
from hopgraph.tools.io.redact import redact
from hopgraph.tools.scoring.weights import require

_PATIENCE = 600.0
"""Seconds until a cluster has room for one worker; those that grow on demand need minutes."""
_KNOCK_SECONDS = 10.0
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Local models see the graphics card, though a worker does not claim one.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_LOCAL_ENVIRONMENT = {
    # Whatever its name says: with 0 a cluster listens on loopback, on Linux too.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",  # Ray's own choice, but without a line about it on the terminal
}


class RayActor:
    """Lives in a process of its own, on any machine of the cluster."""

    def __init__(self, folder: str) -> None:
        """Go where the driver is, so that relative paths mean the same."""
        with suppress(OSError):
            os.chdir(folder)

    async def greet(self) -> tuple[str, str]:
        """Tell its machine and its version of hopgraph."""
        return socket.gethostname(), version("hopgraph")

    async def answer(self, job: QuestionJob) -> AsyncGenerator[StepEvent | JobResult]:
        """Answer a question: each model call as it is made, at the end the outcome."""
        async for news in stream_job(job):
            yield news


@dataclass(eq=False)
class _Hired:
    actor: Any
    greeting: asyncio.Task[None]
    under_way: int = 0


class RayWorkers:
    """The workers of a run; one that dies is replaced, and its questions are given to others."""

    def __init__(self, ray: Any, concurrency: int) -> None:
        """Prepare as many workers as the cluster has CPUs, and no more than questions are under way at once."""
        self._ray = ray
        self._count = max(1, min(int(ray.cluster_resources().get("CPU", 1)), concurrency))
        # One worker may be the only one for a while: it takes all.
        self._actor = ray.remote(num_cpus=1, max_concurrency=concurrency + 1)(RayActor)
        self._hired: list[_Hired] = []

    async def answer(self, job: QuestionJob, watch: EventListener) -> JobResult:
        """Have a question answered, as `hopgraph.tools.apps.evaluation.batch.question_job.answer_question` does it.

        Args:
            job: what to do.
            watch: called with each model call as it is made; other steps stay where they are.

        Returns:
            The outcome and the compressed record. A question that three workers died with is a failed outcome.

        Raises:
            HopgraphError: settings, prompts or a corpus that no question can be answered with.
            RunError: no worker can be started.
        """
        errors, began, why = self._ray.exceptions, time.perf_counter(), ""
        job = replace(job, settings=portable_settings(job.settings, self._count))
        for _ in range(MAX_ATTEMPTS):
            worker = await self._freest()
            worker.under_way += 1
            try:
                async for reference in worker.actor.answer.remote(job):
                    came = await reference
                    if isinstance(came, tuple):
                        return cast("JobResult", came)
                    watch(came)
            except errors.RayTaskError as error:
                raise error.cause from None
            except errors.RayError as error:
                why = _first_line(error)
                if worker in self._hired:  # the first of its questions to notice
                    self._hired.remove(worker)
            finally:
                worker.under_way -= 1
        return failed_outcome(
            job, f"lost with {MAX_ATTEMPTS} Ray workers, the last time: {why}", time.perf_counter() - began
        ), None

    async def _freest(self) -> _Hired:
        while len(self._hired) < self._count:
            actor = self._actor.remote(os.getcwd())
            self._hired.append(_Hired(actor, asyncio.create_task(self._greeted(actor))))
        greetings = [each.greeting for each in self._hired]
        done, _ = await asyncio.wait(greetings, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise RunError(f"the Ray cluster had no free CPU for a worker within {_PATIENCE:.0f} seconds")
        for each in done:
            each.result()
        return min((each for each in self._hired if each.greeting.done()), key=lambda each: each.under_way)

    async def _greeted(self, actor: Any) -> None:
        try:
            machine, theirs = await actor.greet.remote()
        except self._ray.exceptions.RayError as error:
            raise RunError(
                f"a Ray worker cannot start: {_first_line(error)} "
                "(every machine of the cluster needs the same hopgraph, with its extras)"
            ) from None
        if theirs != version("hopgraph"):
            raise RunError(f"{machine} has hopgraph {theirs}, and {version('hopgraph')} is needed; install that")


@contextmanager
def ray_workers(concurrency: int) -> Generator[RayWorkers]:
    """Join the cluster that RAY_ADDRESS names, else start one on this machine for as long as the block runs.

    Args:
        concurrency: how many questions are under way at once, over all workers.

    Raises:
        SpecError: Ray is not installed.
        SettingsError: RAY_ADDRESS is one of a Ray client.
        RunError: the cluster cannot be reached.
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
        _knock(address)
        ray.init(address, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise RunError(f"the Ray cluster {address!r} cannot be used: {_first_line(error)}") from None
    try:
        yield RayWorkers(ray, concurrency)
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Try whether somebody listens at HOST:PORT, which Ray itself does for a minute and more."""
    place = urlsplit(f"//{address}")
    if place.hostname and place.port:
        socket.create_connection((place.hostname, place.port), timeout=_KNOCK_SECONDS).close()


def _first_line(error: BaseException) -> str:
    return redact(next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__))[:300]
