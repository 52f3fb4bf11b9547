"""What a run will take, before its first call: a simulated model answers the first questions, and its calls count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hopgraph.state import Context, StepEvent
from hopgraph.state.context import DEFAULT_MODEL
from hopgraph.state.events import Asked, parse_event
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob, answer_question
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.text.sanitize import pluralize

TRIED_QUESTIONS = 10
"""Questions that are tried. Of 100 of HotpotQA's, the first 3 predicted half of the calls that MIGRES then took, the
first 10 87 %."""


class MethodEstimate(NamedTuple):
    """What one method will take; calls and tokens are means per question."""

    method: str
    questions: int
    """Questions times repeats that are still to be asked."""
    tried: int
    """Questions that the simulated model answered; with 0 the figures below are 0 and mean nothing."""
    calls: float
    prompt_tokens: float
    completion_tokens: float


@dataclass(frozen=True)
class RunEstimate:
    """What a run will take, as a simulated model predicts it."""

    stand_in: str
    """The spec of the model that answered."""
    methods: list[MethodEstimate]
    left_out: tuple[str, ...] = ()
    """What is not counted: models that rerank or judge entailment."""

    @property
    def label(self) -> str:
        """Return a sentence on what the figures are based on."""
        tried = pluralize(max((each.tried for each in self.methods), default=0), "question")
        text = (
            f"An estimate from the first {tried}, answered by {self.stand_in}, with four characters to a "
            "token; a language model takes more or fewer turns, and may reason at length"
        )
        return f"{text}. Not counted: {', '.join(self.left_out)}" if self.left_out else text


def choose_stand_in(dataset: Path, questions: Sequence[EvalQuestion], *, rename: int | None) -> str:
    """Choose the model: rehearsal where the data set has gold answers and passages or steps, else offline.

    The rehearsal model finds questions by their text, and so needs the seed with which they were renamed.
    """
    annotated = all(each.answers and (each.gold or each.hops) for each in questions)
    options = "" if rename is None else f"?rename={rename}"
    return f"rehearsal:{dataset}{options}" if annotated else DEFAULT_MODEL


async def estimate_run(
    methods: Mapping[str, Context],
    questions: Sequence[EvalQuestion],
    left: Mapping[str, int],
    *,
    stand_in: str,
) -> RunEstimate:
    """Answer the first questions by every method, in process, and count; HopgraphError where none can be answered.

    `left` maps a method to the questions times repeats that are still to be asked (0 where it is left out); `stand_in`
    is the spec of the model that answers.
    """
    tried = [
        await _estimate(settings, questions[:TRIED_QUESTIONS], left.get(name, 0), stand_in)
        for name, settings in methods.items()
    ]
    apart = {str(each) for settings in methods.values() for each in (settings.reranker, settings.entailment)}
    own = (f"what {name} asks by itself" for name, settings in methods.items() if not settings.steps)
    return RunEstimate(stand_in, tried, (*own, *sorted(filter(_is_model, apart))))


async def _estimate(settings: Context, questions: Sequence[EvalQuestion], left: int, stand_in: str) -> MethodEstimate:
    # Lexical reranking and checking, so that nothing is paid for.
    free = {name: "lexical" for name in ("reranker", "entailment") if _is_model(str(getattr(settings, name)))}
    replaced = settings.model_copy(update={"model": stand_in, "models": {}, "cache_dir": None, **free})
    calls: list[Asked] = []
    tried = 0
    for question in questions if settings.steps else ():  # a graph that asks in its own way would ask for money
        events: list[StepEvent] = []
        if (await answer_question(QuestionJob(question, replaced, keep_trace=False), events.append)).failure:
            continue  # counted as far as it came, it would make the method look cheap
        tried += 1
        calls += [event for event in map(parse_event, events) if isinstance(event, Asked)]
    share = 1 / tried if tried else 0.0
    return MethodEstimate(
        settings.method,
        left,
        tried,
        sum(call.attempts for call in calls) * share,
        sum(call.prompt_tokens for call in calls) * share,
        sum(call.completion_tokens for call in calls) * share,
    )


def _is_model(spec: str) -> bool:
    return spec.startswith("model:")
