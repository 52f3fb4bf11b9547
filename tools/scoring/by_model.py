"""A language model as a reranker or an entailment checker: `model:SPEC`, e.g. `model:openai:gpt-4.1-mini`.

Requests ignore a method's settings: they are sampled at temperature 0 and not interrupted by the run's budget, though
`nodes.core.pair_scoring` charges their cost to it for the following steps.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypeVar

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, Field

from hopgraph.state import Call, EntailmentChecker, Reranker, SpecError, empty_call
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models.parse import UnusableReplyError, parse_in_turn
from hopgraph.tools.models.resolve import Sampling, resolve_model
from hopgraph.tools.models.send import SendOptions, send
from hopgraph.tools.prompts import Value, render
from hopgraph.tools.scoring.pair_scorers import JudgeScorer, Pair, group_by_query, scores_of_pairs

RecordT = TypeVar("RecordT", bound=BaseModel)

_PARSE_RETRIES = 2
_SEND_OPTIONS = SendOptions(parallel=16, retries=4)


async def judge(
    model: str, role: str, variables: Mapping[str, Value], schema: type[RecordT]
) -> tuple[RecordT | None, Call]:
    """Ask a model for one judgement; the role names the prompt, e.g. `scorer/score_relevance`.

    Returns the judgement (None if no reply could be used) and the call. SpecError if the model's spec cannot be
    resolved, ModelError if a request finally failed.
    """
    handle = await resolve_model(model, Sampling())
    messages: list[BaseMessage] = await asyncio.to_thread(render, role, variables)
    call = empty_call("model", role)
    for _ in range(1 + _PARSE_RETRIES):
        reply = await send(handle, messages, schema, _SEND_OPTIONS)
        call["attempts"] += 1
        call["prompt_tokens"] += reply.prompt_tokens
        call["completion_tokens"] += reply.completion_tokens
        try:
            if reply.problem:
                raise UnusableReplyError(reply.problem)
            return await parse_in_turn(reply.text, schema), call
        except UnusableReplyError:
            call["parse_failures"] += 1
    return None, call


RELEVANT = 5.0
"""δ on the scale of the prompt: 5 for a text that is about the question, more if it states a fact."""
TEXTS_PER_CALL = 20
"""Texts per prompt. Each is rated on its own, so that long lists can be split."""


class Rating(BaseModel):
    """The relevance of one text."""

    passage: int
    rating: float = Field(ge=0, le=10)


class Ratings(BaseModel):
    """A reply for the role `scorer/score_relevance`."""

    ratings: list[Rating] = Field(json_schema_extra={"maxItems": TEXTS_PER_CALL})


class Support(BaseModel):
    """A reply for the role `scorer/judge_entailment`; `true` and `false` are read as 1 and 0."""

    supported: float = Field(ge=0, le=1)


def model_reranker(spec: str) -> Reranker:
    """Return a reranker that has a language model rate texts from 0 to 10; SpecError if the spec names no model.

    A text without a rating has 0. Sentences are texts, too: `compression=none` saves most of the calls.
    """
    model = _model_of(spec)

    async def rate(pairs: Sequence[Pair]) -> tuple[list[float], list[Call]]:
        groups = group_by_query(pairs, TEXTS_PER_CALL)
        shown = [{"question": query, "passages": texts} for query, texts in groups]
        judged = await asyncio.gather(*(judge(model, "scorer/score_relevance", each, Ratings) for each in shown))
        rated = [{one.passage: one.rating for one in said.ratings} if said else {} for said, _ in judged]
        scores = [
            [ratings.get(number, 0.0) for number, _ in enumerate(texts, start=1)]
            for (_, texts), ratings in zip(groups, rated, strict=True)
        ]
        return scores_of_pairs(pairs, groups, scores), [call for _, call in judged]

    return JudgeScorer(redact(spec), RELEVANT, rate)


def model_entailment(spec: str) -> EntailmentChecker:
    """Return a checker with one model call per pair, on the whole premise; SpecError without a model."""
    model = _model_of(spec)

    async def check(pairs: Sequence[Pair]) -> tuple[list[float], list[Call]]:
        distinct = list(dict.fromkeys(pairs))
        shown = [{"premise": premise, "statement": statement} for premise, statement in distinct]
        judged = await asyncio.gather(*(judge(model, "scorer/judge_entailment", each, Support) for each in shown))
        scores = {pair: said.supported if said else 0.0 for pair, (said, _) in zip(distinct, judged, strict=True)}
        return [scores[pair] for pair in pairs], [call for _, call in judged]

    return JudgeScorer(redact(spec), 0.5, check)


def _model_of(spec: str) -> str:
    model = spec.removeprefix("model:")
    if not model:
        raise SpecError(f"{spec!r} names no model: write model:openai:NAME")
    return model
