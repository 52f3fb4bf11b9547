"""Answer one question of a run, and turn failures into outcomes."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, NamedTuple

from hopgraph.graphs import METHODS
from hopgraph.state import Context, HopgraphError, ModelError, Passage, QuestionError, StepEvent
from hopgraph.state.events import event_order
from hopgraph.tools.apps.evaluation.batch.run_directory import Outcome, compress_record
from hopgraph.tools.apps.evaluation.citation_metrics import CitationScores, score_citations
from hopgraph.tools.apps.evaluation.distillation import DISTILLATIONS, DistillationContext
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.preliminary import EXPERIMENTS
from hopgraph.tools.apps.runs.answer_record import answer_record
from hopgraph.tools.io.background import run_user_code
from hopgraph.tools.io.http_retries import classify_failure
from hopgraph.tools.io.redact import redact
from hopgraph.tools.resources import get_entailment_checker

EventListener = Callable[[StepEvent], None]


class JobResult(NamedTuple):
    """The outcome of one question."""

    outcome: Outcome
    record: bytes | None = None
    """The compressed record of all steps, if traces are kept."""
    failure: str = ""
    """`outage` or `refusal`, as in `HopgraphError.trouble`, else the error's class; empty on success."""


@dataclass(frozen=True)
class QuestionJob:
    """One question for one method, with the method's own settings."""

    question: EvalQuestion
    settings: Context
    repeat: int = 0
    keep_trace: bool = True
    check_support: bool = False
    """Whether the entailment checker decides if citations support the answer, for lack of gold passages."""


async def _final_state(job: QuestionJob, see: EventListener) -> Mapping[str, Any]:
    given: dict[str, Any] = {"question": job.question.question}
    if isinstance(job.settings, DistillationContext):
        graph = DISTILLATIONS[job.settings.role]
        given["annotated"] = job.question
    elif job.settings.method in EXPERIMENTS:
        graph = EXPERIMENTS[job.settings.method]
        given["annotated"] = job.question
    else:
        graph = METHODS[job.settings.method].graph
        if requires_gold(job.settings.method):
            given["gold_passages"] = [each._asdict() for each in job.question.contexts if each.id in job.question.gold]
    state: Mapping[str, Any] = {}
    stream: Any = graph.astream(given, context=job.settings, stream_mode=["custom", "values"], subgraphs=True)
    async with aclosing(stream) as steps:  # `see` may raise to stop the run
        async for namespace, mode, chunk in steps:
            if mode == "custom":
                see(chunk)
            elif not namespace:
                state = chunk
    return state


def requires_gold(method: str) -> bool:
    """Return whether a method receives the gold passages with the question; experiments do not."""
    return method in METHODS and METHODS[method].takes_gold_passages


def is_external(method: str) -> bool:
    """Return whether a method is not built into hopgraph; experiments are."""
    return method in METHODS and not METHODS[method].is_built_in


async def answer_question(job: QuestionJob, watch: EventListener) -> JobResult:
    """Run a method, an experiment or a graph that generates training data; `watch` receives each step event.

    The record also has the state's `measured` (experiments) or `distilled` (training data). A permanent failure, e.g.
    of a server, a question that is too long, or a custom retriever, is an outcome. HopgraphError: no question can be
    answered with these settings, prompts or corpus.
    """
    began = time.perf_counter()
    events: list[StepEvent] = []

    def see(event: StepEvent) -> None:
        events.append(event)
        watch(event)

    try:
        state = await _final_state(job, see)
        outcome = make_outcome(job, began, state)
        if job.check_support and outcome["citations"]:
            outcome["supported"] = await _is_supported(job, state)
        if outcome["answer"] and (state.get("markdown") or job.settings.answer_type == "sentence"):
            outcome["citation_recall"], outcome["citation_precision"] = await _citation_scores(job, state)
    except HopgraphError as error:
        if error.trouble != "outage" and not isinstance(error, ModelError | QuestionError):
            raise
        return JobResult(make_outcome(job, began, error=str(error)), None, error.trouble or type(error).__name__)
    except Exception as error:  # noqa: BLE001 - an error in a custom model or retriever fails its question, not the run
        kind = type(error).__name__
        return JobResult(make_outcome(job, began, error=f"{kind}: {error}"), None, classify_failure(error) or kind)
    if not job.keep_trace:
        return JobResult(outcome)
    events.sort(key=event_order)
    made = {key: state[key] for key in ("measured", "distilled") if key in state}
    record = await asyncio.to_thread(lambda: compress_record({**answer_record(job.settings, state, events), **made}))
    return JobResult(outcome, record)


def make_outcome(job: QuestionJob, began: float, state: Mapping[str, Any] | None = None, *, error: str = "") -> Outcome:
    """Return a question's outcome from its final state or error; `began` is the `time.perf_counter()` at its start."""
    state = state or {}
    passages: list[Passage] = state.get("passages", [])
    outcome = Outcome(
        method=job.settings.method,
        id=job.question.id,
        repeat=job.repeat,
        answer=state.get("answer", ""),
        explanation=state.get("explanation", ""),
        citations=state.get("citations", []),
        retrieved=[passage["id"] for passage in passages],
        titles=[passage["title"] for passage in passages],
        supported=None,
        stop_reason=state.get("stop_reason", "failed"),
        usage=state.get("usage"),
        seconds=round(time.perf_counter() - began, 6),
        error=" ".join(redact(error).split())[:500],
        trace=[],
    )
    if outcome["answer"] and state.get("confidence") is not None:
        outcome["confidence"] = state["confidence"]
    return outcome


async def _citation_scores(job: QuestionJob, state: Mapping[str, Any]) -> CitationScores:
    checker = await get_entailment_checker(job.settings)
    texts = {passage["id"]: f"{passage['title']}\n{passage['text']}" for passage in state.get("passages", [])}
    return await run_user_code(score_citations, state["answer"], state["citations"], texts, checker)


async def _is_supported(job: QuestionJob, state: Mapping[str, Any]) -> bool:
    checker = await get_entailment_checker(job.settings)
    texts = {passage["id"]: passage["text"] for passage in state["passages"]}
    cited = [texts[each["passage_id"]] for each in state["citations"] if each["passage_id"] in texts]
    claim = f"{job.question.question} {state['answer']}"
    (score,) = await run_user_code(checker.score, [("\n\n".join(cited), claim)])
    return score >= checker.threshold
