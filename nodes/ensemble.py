"""Let each passage separately propose an answer, and choose the most likely one over all passages."""

import math
from collections.abc import Mapping, Sequence
from itertools import product

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import (
    CallResult,
    ModelCall,
    answer_type_variable,
    ask_all,
    calls_of,
    ran_out_of_budget,
    usage_update,
)
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import kept_passages, read_answer, reader_ask, reading_update
from hopgraph.state import Context, Draft, Update
from hopgraph.state.baselines import ReplugContext, SamplesState
from hopgraph.state.events import AnswersScored, Sampled
from hopgraph.tools.models.completions import TextRequest, TokenLogprobs
from hopgraph.tools.text.comparison import normalize_answer


@with_passage_review("knowledge")
async def propose_answers(state: SamplesState, runtime: Runtime[Context]) -> Update:
    """Write `drafts`: an answer from each kept passage, shown alone, all requested concurrently (REPLUG)."""
    settings, (excerpts, shown) = runtime.context, kept_passages(state)
    answers = await ask_all(
        runtime, state, [reader_ask(state["question"], settings, passages=[each]) for each in shown]
    )
    drafts = [
        read_answer(answered, settings, [excerpt], evidence_id=f"1.1.{number}", question=state["question"])
        for number, (answered, excerpt) in enumerate(zip(answers, excerpts, strict=True), start=1)
    ]
    emit(runtime, Sampled(answers=[draft["answer"] for draft in drafts]))
    return {"drafts": drafts, **usage_update(state, answers)}


async def ensemble(state: SamplesState, runtime: Runtime[ReplugContext]) -> Update:
    """Choose the answer y with the greatest Σ_d λ(d, x) p(y | d∘x) (REPLUG); ties go to the first.

    λ is the softmax of the passages' scores, p the product of the probabilities of the answer's tokens under a prompt
    with only that passage: a log-probability call for each answer and passage. Answers that differ only in case,
    punctuation and articles are one; a single one is not scored. A passage for which an answer was not scored,
    because of the budget or an unusable reply, is left out for all; if none is left, an answer scores the weights of
    the passages that proposed it. Writes the keys of a final answer, which cites these passages.
    """
    settings, drafts = runtime.context, state["drafts"]
    excerpts, shown = kept_passages(state)
    weights = _softmax([each["score"] / settings.weight_temperature for each in excerpts])
    keys = [normalize_answer(draft["answer"]) or draft["answer"] for draft in drafts]
    texts = {key: draft["answer"] for key, draft in reversed([*zip(keys, drafts, strict=True)])}
    answers = [*dict.fromkeys(key for key in keys if key)]
    pairs = product(shown if len(answers) > 1 else [], answers)
    wanted = [_score_ask(state["question"], settings, each, texts[key]) for each, key in pairs]
    scored = await ask_all(runtime, state, wanted)
    sums, unit = _weighted_sums(scored, weights, len(answers))
    sums = sums or [sum(w for w, key in zip(weights, keys, strict=True) if key == answer) for answer in answers]
    best = max(answers, key=lambda key: sums[answers.index(key)], default=None)
    scores = [sums[answers.index(key)] * unit if key else 0.0 for key in keys]
    chosen = None if best is None else keys.index(best)
    emit(runtime, AnswersScored(answers=[draft["answer"] for draft in drafts], scores=scores, chosen=chosen))
    resting = [each for key, draft in zip(keys, drafts, strict=True) if key == best for each in draft["evidence"]]
    limit = "budget" if ran_out_of_budget(scored) else state["stop_reason"]
    reading = Draft(reasoning="", answer="" if best is None else texts[best], evidence=resting)
    return {**reading_update(reading, runtime, limit=limit), "calls": calls_of(scored)}


def _score_ask(question: str, settings: Context, passage: Mapping[str, str], answer: str) -> ModelCall[TokenLogprobs]:
    variables = {"passages": [passage], "question": question, **answer_type_variable(settings)}
    text = TextRequest(continuation=f" {answer}")
    return ModelCall("score_answer", variables, TokenLogprobs, TokenLogprobs(tokens=[]), text=text)


def _softmax(scores: Sequence[float]) -> list[float]:
    """Turn scores into weights that sum to 1; empty for none."""
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def _weighted_sums(
    scored: Sequence[CallResult[TokenLogprobs]], weights: Sequence[float], answers: int
) -> tuple[list[float], float]:
    """Sum each answer's probabilities over the passages with a score for all; empty if no passage has.

    The unit of the sums is the greatest of the probabilities, as those of long answers would underflow.
    """
    by_passage = [scored[first : first + answers] for first in range(0, len(scored), answers or 1)]
    rows = [
        (weight, [each.record.total for each in row])
        for weight, row in zip(weights, by_passage, strict=False)
        if weight and all(each.record.tokens for each in row)
    ]
    most = max((total for _, totals in rows for total in totals), default=0.0)
    columns = range(answers if rows else 0)
    return [sum(weight * math.exp(row[number] - most) for weight, row in rows) for number in columns], math.exp(most)
