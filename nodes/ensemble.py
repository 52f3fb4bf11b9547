"""Take the answer that is likeliest over all passages, each weighted by its similarity to the question."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import ReadAnswer, excerpts_of_all_queries, reading_update
from hopgraph.nodes.core.ask import Ask, AskResult, ask_all, calls_of, yes_no_variable
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Context
from hopgraph.state.baselines import ReplugContext, SamplesState
from hopgraph.state.events import AnswersScored
from hopgraph.tools.models.completions import TextRequest, TokenLogprobs
from hopgraph.tools.text.comparison import normalize_answer

_TINY = 5e-324
"""Stands for weights that are too small for a number."""


async def ensemble(state: SamplesState, runtime: Runtime[ReplugContext]) -> Mapping[str, Any]:
    """Choose the answer y with the greatest Σ_d λ(d, x) p(y | d∘x) (REPLUG); of a tie the first.

    λ is the softmax of the passages' scores. p is the product of the probabilities of the answer's tokens under a
    prompt with that passage alone: one call of log-probabilities for each answer and passage, passage by passage, all
    at the same time. Answers that differ in case, punctuation and articles only are one; where there is only one, it is
    not scored. A passage under which an answer was not scored, for want of budget or a usable reply, is left out for
    all; without any other, an answer is worth the weights of the passages that proposed it. Writes the keys of a final
    answer, which rests on the passages that proposed it; without one the question is unanswerable.
    """
    settings, drafts = runtime.context, state["drafts"]
    excerpts = excerpts_of_all_queries(state["knowledge"])
    weights = _softmax([each["score"] / settings.weight_temperature for each in excerpts])
    keys = [normalize_answer(draft["answer"]) or draft["answer"] for draft in drafts]
    texts = {key: draft["answer"] for key, draft in reversed([*zip(keys, drafts, strict=True)]) if key}
    answers = dict.fromkeys(key for key in keys if key)
    shown = prompt_passages(excerpts, passages_by_id(state["passages"])) if len(answers) > 1 else []
    wanted = [_score_ask(state["question"], settings, each, texts[key]) for each in shown for key in answers]
    scored = await ask_all(runtime, state, wanted)
    totals = _log_probabilities(scored, weights, len(answers)) or [
        math.log(sum(weight for weight, key in zip(weights, keys, strict=True) if key == answer) or _TINY)
        for answer in answers
    ]
    of_answer = dict(zip(answers, totals, strict=True))
    best = max(of_answer, key=lambda key: of_answer[key], default=None)
    chosen = None if best is None else keys.index(best)
    probabilities = [math.exp(of_answer[key]) if key else 0.0 for key in keys]
    emit(runtime, AnswersScored(answers=[draft["answer"] for draft in drafts], scores=probabilities, chosen=chosen))
    resting = [each for key, draft in zip(keys, drafts, strict=True) if key == best for each in draft["evidence"]]
    reading = ReadAnswer("" if best is None else texts[best], "", resting)
    cut_off = any(each.outcome == "budget" for each in scored)
    limit = "budget" if cut_off else state["stop_reason"]
    return {**reading_update(reading, runtime, limit=limit), "calls": calls_of(scored)}


def _score_ask(question: str, settings: Context, passage: Mapping[str, str], answer: str) -> Ask[TokenLogprobs]:
    variables = {"passages": [passage], "question": question, **yes_no_variable(settings)}
    text = TextRequest(continuation=f" {answer}")
    return Ask("score_answer", variables, TokenLogprobs, TokenLogprobs(tokens=[]), text=text)


def _softmax(scores: Sequence[float]) -> list[float]:
    """Turn scores into weights whose sum is 1; empty for none."""
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def _log_probabilities(
    scored: Sequence[AskResult[TokenLogprobs]], weights: Sequence[float], answers: int
) -> list[float]:
    """Add each answer's probabilities up over the passages with a score for all; empty where no passage has."""
    by_passage = [scored[first : first + answers] for first in range(0, len(scored), answers or 1)]
    rows = [
        (weight, [each.record.total for each in row])
        for weight, row in zip(weights, by_passage, strict=False)
        if weight and all(each.record.tokens for each in row)
    ]
    return [
        _log_sum([math.log(weight) + totals[number] for weight, totals in rows])
        for number in range(answers if rows else 0)
    ]


def _log_sum(logs: Sequence[float]) -> float:
    """Add probabilities up without leaving their logarithms, as those of long answers are too small for a number."""
    return max(logs) + math.log(sum(math.exp(each - max(logs)) for each in logs))
