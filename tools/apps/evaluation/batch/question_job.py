"""Answer one question of a run, and turn failures into outcomes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from hopgraph.graphs import METHODS
from hopgraph.state import Context, HopgraphError, ModelError, Passage, StepEvent
from hopgraph.state.events import event_order
from hopgraph.tools.apps.evaluation.batch.outcome import Outcome
from hopgraph.tools.apps.evaluation.batch.run_directory import compress_record
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.runs.answer_record import answer_record
from hopgraph.tools.io.redact import redact
from hopgraph.tools.resources import get_entailment_checker

EventListener = Callable[[StepEvent], None]


@dataclass(frozen=True)
class QuestionJob:
    """One question for one method."""

    question: EvalQuestion
    settings: Context
    """The method's own."""
    repeat: int = 0
    keep_trace: bool = True
    check_support: bool = False
    """Whether the entailment checker decides if the citations support the answer, without gold passages."""


JobWork = Callable[[QuestionJob, EventListener], Awaitable[Mapping[str, Any]]]
"""Works on one question and gives the state at the end, as a graph does."""


async def answer_question(job: QuestionJob, watch: EventListener) -> tuple[Outcome, bytes | None]:
    """Run a method on a question; see `run_job`."""
    return await run_job(_final_state, job, watch)


async def run_job(work: JobWork, job: QuestionJob, watch: EventListener) -> tuple[Outcome, bytes | None]:
    """Run a job and return its outcome.

    Args:
        work: a method, or an experiment; the latter's measures are `measured` in its state.
        job: what to do.
        watch: called with each step event as it happens.

    Returns:
        The outcome, and the compressed record of all steps when it is to be kept. A model that fails for
        good, and any exception of a custom retriever or model, is an outcome.

    Raises:
        HopgraphError: settings, prompts or a corpus that no question can be answered with.
    """
    began = time.perf_counter()
    events: list[StepEvent] = []

    def see(event: StepEvent) -> None:
        events.append(event)
        watch(event)

    try:
        state = await work(job, see)
    except ModelError as error:
        return failed_outcome(job, str(error), time.perf_counter() - began), None
    except HopgraphError:
        raise
    except Exception as error:  # noqa: BLE001 - an error in a custom model or retriever fails its question, not the run
        return failed_outcome(job, f"{type(error).__name__}: {error}", time.perf_counter() - began), None
    outcome = _finished_outcome(job, state, time.perf_counter() - began)
    if job.check_support and outcome["citations"]:
        outcome["supported"] = await _is_supported(job, state)
    if not job.keep_trace:
        return outcome, None
    events.sort(key=event_order)
    return outcome, await asyncio.to_thread(_record, job, state, events)


def _record(job: QuestionJob, state: Mapping[str, Any], events: list[StepEvent]) -> bytes:
    measured = {"measured": state["measured"]} if "measured" in state else {}
    return compress_record({**answer_record(job.settings, state, events), **measured})


async def _final_state(job: QuestionJob, see: EventListener) -> Mapping[str, Any]:
    graph = METHODS[job.settings.method].graph
    given: dict[str, Any] = {"question": job.question.question}
    if requires_gold(job.settings.method):
        given["gold_passages"] = [each._asdict() for each in job.question.contexts if each.id in job.question.gold]
    state: Mapping[str, Any] = {}
    stream = graph.astream(given, context=job.settings, stream_mode=["custom", "values"], subgraphs=True)
    async for namespace, mode, chunk in stream:
        if mode == "custom":
            see(chunk)
        elif not namespace:
            state = chunk
    return state


def requires_gold(method: str) -> bool:
    """Whether a method takes the gold passages with the question; an experiment does not."""
    found = METHODS.get(method)
    return found is not None and "gold_passages" in found.graph.builder.input_schema.__annotations__


def _finished_outcome(job: QuestionJob, state: Mapping[str, Any], seconds: float) -> Outcome:
    passages = cast("list[Passage]", state["passages"])
    return {
        **_empty_outcome(job, seconds),
        "answer": state["answer"],
        "explanation": state["explanation"],
        "citations": state["citations"],
        "retrieved": [passage["id"] for passage in passages],
        "titles": [passage["title"] for passage in passages],
        "stop_reason": state["stop_reason"],
        "usage": state["usage"],
    }


def failed_outcome(job: QuestionJob, reason: str, seconds: float) -> Outcome:
    """Make the outcome of a question that failed after so many seconds; keys are redacted from the reason."""
    return {**_empty_outcome(job, seconds), "error": " ".join(redact(reason).split())[:500] or "failed"}


def _empty_outcome(job: QuestionJob, seconds: float) -> Outcome:
    return Outcome(
        method=job.settings.method,
        id=job.question.id,
        repeat=job.repeat,
        answer="",
        explanation="",
        citations=[],
        retrieved=[],
        titles=[],
        supported=None,
        stop_reason="failed",
        usage=None,
        seconds=round(seconds, 6),
        error="",
        trace=[],
    )


async def _is_supported(job: QuestionJob, state: Mapping[str, Any]) -> bool:
    """Ask the entailment checker whether the cited passages entail the question with its answer."""
    checker = await get_entailment_checker(job.settings)
    texts = {passage["id"]: passage["text"] for passage in state["passages"]}
    cited = [texts[each["passage_id"]] for each in state["citations"] if each["passage_id"] in texts]
    claim = f"{job.question.question} {state['answer']}"
    (score,) = await asyncio.to_thread(checker.score, [("\n\n".join(cited), claim)])
    return score >= checker.threshold
