"""What questions take along that are answered in another process, on this machine or on another."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import cast

from hopgraph.state import Context, SettingsError, StepEvent
from hopgraph.tools.apps.evaluation.batch.outcome import Outcome
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob, answer_question
from hopgraph.tools.io.background import background_loop, run_on

MAX_ATTEMPTS = 3
"""With how many workers a question may be lost before it counts as failed: it may be what kills them."""

JobResult = tuple[Outcome, bytes | None]
"""The outcome and the compressed record of all steps, as `question_job.answer` gives them."""


async def stream_job(job: QuestionJob) -> AsyncGenerator[StepEvent | JobResult]:
    """Answer a question where this runs: each model call as it is made, at the end what came of it.

    Raises:
        HopgraphError: settings, prompts or a corpus that no question can be answered with.
    """
    here, news = asyncio.get_running_loop(), asyncio.Queue[StepEvent | None]()

    def watch(event: StepEvent) -> None:
        if event["event"] == "asked":
            here.call_soon_threadsafe(news.put_nowait, event)

    work = asyncio.ensure_future(run_on(background_loop(), answer_question(job, watch)))
    work.add_done_callback(lambda _: news.put_nowait(None))
    while event := await news.get():
        yield event
    yield work.result()


def portable_settings(settings: Context, workers: int) -> Context:
    """Make settings that mean the same everywhere: nothing is left for a worker's own environment.

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
