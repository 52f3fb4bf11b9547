"""Ask a model to judge, outside a method's own roles: as a reranker, or as an entailment checker.

Requests are made as all others: rendered prompt, one limit per model, retries, structured replies, tolerant
parsing, asking again. Their cost is returned, and `nodes.core.pair_scoring` adds it to the run's. They do not
follow a method's settings: requests are sampled at temperature 0, and the run's budget does not interrupt
them, though what they spent counts for the steps after them.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from hopgraph.state import Call, empty_call
from hopgraph.tools.models.parse import UnusableReplyError, parse_in_turn
from hopgraph.tools.models.resolve import Sampling, resolve_model
from hopgraph.tools.models.send import SendOptions, send
from hopgraph.tools.prompts import Value, render

RecordT = TypeVar("RecordT", bound=BaseModel)

_PARSE_RETRIES = 2
_SEND_OPTIONS = SendOptions(parallel=16, retries=4)


@dataclass(frozen=True)
class ModelJudgement(Generic[RecordT]):
    """A model's judgement and its cost."""

    record: RecordT | None
    """None where no reply could be used."""
    call: Call


async def judge(
    model: str, role: str, variables: Mapping[str, Value], schema: type[RecordT]
) -> ModelJudgement[RecordT]:
    """Ask the model of a spec for one judgement; the role names the prompt, as `scorer/score_relevance`.

    Raises:
        SpecError: the model's spec cannot be resolved. ModelError: a request failed for good.
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
            return ModelJudgement(await parse_in_turn(reply.text, schema), call)
        except UnusableReplyError:
            call["parse_failures"] += 1
    return ModelJudgement(None, call)
