"""Send one request to a model: limited, retried with backoff, and with errors in one line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import tenacity
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel

from hopgraph.tools.io.background import run_on
from hopgraph.tools.io.http_retries import is_openai_error, may_pass, patience, status_of
from hopgraph.tools.models.failures import as_model_error, is_unsupported
from hopgraph.tools.models.resolve import Bound, ModelHandle, Options
from hopgraph.tools.models.structured import Mode, modes_of, reply_text
from hopgraph.tools.models.tokens import count_tokens

_LONGEST_WAIT = 60.0
_CUT_OFF = "the reply was cut off at the token limit"
_FILTERED = "the server's content filter stopped the reply"


@dataclass(frozen=True)
class Reply:
    """What came back for one request."""

    text: str
    problem: str
    """Why the text cannot hold the whole record (cut off, refused); empty when nothing is known."""
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Sending:
    """How the settings want requests to be sent."""

    parallel: int
    retries: int
    sampling: Options = ()
    first_wait: float = 0.5
    """Seconds before the first retry; doubled for each further one, unless the server says how long."""
    told: Callable[[int, int | None, float], None] | None = None
    """Called before each retry: how many requests failed, the HTTP status if any, the seconds until the next."""


async def send(handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], sending: Sending) -> Reply:
    """Ask a model for a record of `schema`.

    The first time, the ways of asking for JSON are tried from the strictest on, as long as the server
    refuses them; the one that worked is kept for this model.

    Raises:
        ModelError: refused, unreachable, or still failing after the retries; without keys.
    """
    return await run_on(handle.loop(), _in_its_way(handle, messages, schema, sending))


async def _in_its_way(
    handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], sending: Sending
) -> Reply:
    untried = list(modes_of(handle.model))
    first_refusal: Exception | None = None
    while True:
        async with handle.learnt.limit(sending.parallel):
            # While this request waited, another one may have learnt the way.
            known = handle.learnt.mode
            mode = known or untried[0]
            try:
                reply = await _retrying(handle, messages, schema, mode, sending)
            except Exception as error:  # noqa: BLE001 - each provider has error classes of its own; others pass
                if mode == "text" or known or not is_unsupported(error):
                    raise as_model_error(handle, first_refusal or error) from None
                first_refusal = first_refusal or error
                untried.remove(mode)
                continue
        handle.learnt.mode = mode
        return reply


async def _retrying(
    handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], mode: Mode, sending: Sending
) -> Reply:
    def tell(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if error and sending.told:
            sending.told(state.attempt_number, status_of(error), state.upcoming_sleep)

    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(may_pass),
        stop=tenacity.stop_after_attempt(sending.retries + 1),
        wait=patience(sending.first_wait, _LONGEST_WAIT),
        before_sleep=tell,
        reraise=True,
    )
    return await retrying(_request, handle.bound(schema, mode, sending.sampling), messages)


async def _request(model: Bound, messages: list[BaseMessage]) -> Reply:
    try:
        message = await model.ainvoke(messages, config={"tags": ["nostream"]})
    except Exception as error:
        if reply := _stopped(error, messages):
            return reply
        raise
    return _reply(message, messages)


def _stopped(error: Exception, messages: list[BaseMessage]) -> Reply | None:
    """Read the reply out of the errors with which the openai package reports one that ended too early."""
    if is_openai_error(error, "ContentFilterFinishReasonError"):
        return Reply("", _FILTERED, _prompt_tokens(messages), 0)
    if not is_openai_error(error, "LengthFinishReasonError"):
        return None
    completion: Any = getattr(error, "completion", None)
    text, usage = completion.choices[0].message.content or "", completion.usage
    return Reply(
        text,
        _CUT_OFF,
        usage.prompt_tokens if usage else _prompt_tokens(messages),
        usage.completion_tokens if usage else count_tokens(text),
    )


def _reply(message: AIMessage, messages: list[BaseMessage]) -> Reply:
    text = reply_text(message)
    usage = message.usage_metadata
    problem = ""
    if refusal := cast("str | None", message.additional_kwargs.get("refusal")):
        problem = f"the model refused: {refusal:.200}"
    elif message.response_metadata.get("finish_reason") == "length":
        problem = _CUT_OFF
    elif message.response_metadata.get("finish_reason") == "content_filter":
        problem = _FILTERED
    return Reply(
        text,
        problem,
        usage["input_tokens"] if usage else _prompt_tokens(messages),
        usage["output_tokens"] if usage else count_tokens(text),
    )


def _prompt_tokens(messages: list[BaseMessage]) -> int:
    return sum(count_tokens(str(message.text)) for message in messages)
