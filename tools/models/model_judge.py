"""Ask a model to judge, outside a method's own roles: as a reranker, or as an entailment checker.

The requests go the way of all others: rendered prompt, one limit per model, retries, structured replies,
tolerant parsing, re-asking. They are counted, and whoever scores inside a graph adds the counts to the run's
(`nodes.core.pair_scoring`). What they do not have is a method's settings: requests are sampled at temperature 0, and
the run's budget does not cut them off, though what they spent counts for the steps after them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from hopgraph.state import Call, SpecError, nothing_spent
from hopgraph.tools.models.parse import UnusableReplyError, parse_reply
from hopgraph.tools.models.resolve import Sampling, resolve_model
from hopgraph.tools.models.send import Sending, send
from hopgraph.tools.prompts import Value, render

RecordT = TypeVar("RecordT", bound=BaseModel)

ASKED_AGAIN = 2
"""How often an unusable reply is asked for again."""
SENDING = Sending(parallel=16, retries=4)


@dataclass(frozen=True)
class Judgement(Generic[RecordT]):
    """What a model said."""

    record: RecordT | None
    """None where no reply could be used."""
    call: Call


async def judge(model: str, role: str, variables: Mapping[str, Value], schema: type[RecordT]) -> Judgement[RecordT]:
    """Ask a model for one judgement.

    Args:
        model: the model's spec.
        role: names the prompt, as `scorer/score_relevance`.
        variables: of the prompt.
        schema: what the reply must hold.

    Raises:
        SpecError: the model's spec cannot be resolved. ModelError: a request failed for good.
    """
    handle = await resolve_model(model, Sampling())
    messages: list[BaseMessage] = await asyncio.to_thread(render, role, variables)
    call = nothing_spent("model", role)
    for _ in range(1 + ASKED_AGAIN):
        reply = await send(handle, messages, schema, SENDING)
        call["attempts"] += 1
        call["prompt_tokens"] += reply.prompt_tokens
        call["completion_tokens"] += reply.completion_tokens
        try:
            if reply.problem:
                raise UnusableReplyError(reply.problem)
            return Judgement(parse_reply(reply.text, schema), call)
        except UnusableReplyError:
            call["parse_failures"] += 1
    return Judgement(None, call)


def calls_of(judgements: Sequence[Judgement[RecordT]]) -> list[Call]:
    """Collect what judgements cost, in order."""
    return [each.call for each in judgements]


def model_in(spec: str) -> str:
    """Read the model out of a judge's spec, `model:SPEC`.

    Raises:
        SpecError: nothing follows `model:`.
    """
    model = spec.removeprefix("model:")
    if not model:
        raise SpecError(f"{spec!r} lacks a model: write model:openai:NAME")
    return model
