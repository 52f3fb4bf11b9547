"""What engines with workers in other processes share: questions of a lost worker are given to another one."""

import time
from dataclasses import replace

from hopgraph.state import StepEvent
from hopgraph.tools.apps.evaluation.batch.local_engine import JobRunner
from hopgraph.tools.apps.evaluation.batch.question_job import EventListener, JobResult, QuestionJob, make_outcome

MAX_ATTEMPTS = 3
"""With how many workers a question may be lost before it counts as failed: it may be what kills them."""

WorkerMessage = StepEvent | JobResult
"""What a worker sends: each model call as it is made, at the end the result; other steps stay in the worker."""


class WorkerLostError(Exception):
    """A worker died while it had a question; the text is one line on why."""


def retry_lost(run_one: JobRunner, kind: str, size: int) -> JobRunner:
    """Wrap what has a worker answer a question, so that another one gets it when the worker is lost.

    Args:
        run_one: raises WorkerLostError.
        kind: what the workers are called.
        size: how many workers share the limit of parallel calls.

    Returns:
        The same; a question that three workers died with is a failed outcome.
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
