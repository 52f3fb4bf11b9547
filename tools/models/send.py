"""Send one request to a model: limited, retried with backoff, and with errors in one line."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import cast

import httpx
import openai
import tenacity
from hopgraph.state import ModelError
from hopgraph.tools.background import run_on
from hopgraph.tools.models.redact import redact
from hopgraph.tools.models.resolve import ModelHandle
from hopgraph.tools.models.structured import Mode, modes_of, reply_text
from hopgraph.tools.models.tokens import count_tokens
from langchain_core.messages import AIMessage, BaseMessage
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import BaseModel

PASSING_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that may pass when the request is sent again."""
_UNSUPPORTED_STATUS = frozenset({400, 404, 405, 415, 422, 501})
_LOST = (openai.APIConnectionError, httpx.TransportError, ConnectionError, TimeoutError)
_LONGEST_WAIT = 60.0


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
    first_wait: float = 0.5
    """Seconds before the first retry; doubled for each further one, unless the server says how long."""


async def send(handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], sending: Sending) -> Reply:
    """Ask a model for a record of `schema`.

    The first time, the ways of asking for JSON are tried from the strictest on, as long as the server
    refuses them; the one that worked is kept for this model.

    Raises:
        ModelError: refused, unreachable, or still failing after the retries; without keys.
    """
    return await run_on(handle.loop, _in_its_way(handle, messages, schema, sending))


async def _in_its_way(
    handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], sending: Sending
) -> Reply:
    refused: Exception | None = None
    for mode in handle.modes():
        try:
            async with handle.limit(sending.parallel):
                reply = await _retrying(handle, messages, schema, mode, sending)
        except Exception as error:  # noqa: BLE001 - each provider has error classes of its own; others pass
            if mode != "text" and handle.mode is None and _is_unsupported(error):
                refused = refused or error
                continue
            raise _as_model_error(handle, refused or error) from None
        handle.mode = mode
        return reply
    raise AssertionError(f"no mode for {handle.name}: {modes_of(handle.model)}")


async def _retrying(
    handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], mode: Mode, sending: Sending
) -> Reply:
    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(_may_pass),
        stop=tenacity.stop_after_attempt(sending.retries + 1),
        wait=_wait(sending.first_wait),
        reraise=True,
    )
    return await retrying(_request, handle, messages, schema, mode)


async def _request(handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], mode: Mode) -> Reply:
    try:
        message = await handle.bound(schema, mode).ainvoke(messages, config={"tags": ["nostream"]})
    except openai.LengthFinishReasonError as error:
        usage = error.completion.usage
        text = error.completion.choices[0].message.content or ""
        return Reply(
            text,
            "the reply was cut off at the token limit",
            usage.prompt_tokens if usage else _prompt_tokens(messages),
            usage.completion_tokens if usage else count_tokens(text),
        )
    except openai.ContentFilterFinishReasonError:
        return Reply("", "the server's content filter stopped the reply", _prompt_tokens(messages), 0)
    return _reply(message, messages)


def _reply(message: AIMessage, messages: list[BaseMessage]) -> Reply:
    text = reply_text(message)
    usage = message.usage_metadata
    problem = ""
    if refusal := cast("str | None", message.additional_kwargs.get("refusal")):
        problem = f"the model refused: {refusal:.200}"
    elif message.response_metadata.get("finish_reason") == "length":
        problem = "the reply was cut off at the token limit"
    return Reply(
        text,
        problem,
        usage["input_tokens"] if usage else _prompt_tokens(messages),
        usage["output_tokens"] if usage else count_tokens(text),
    )


def _prompt_tokens(messages: list[BaseMessage]) -> int:
    return sum(count_tokens(str(message.text)) for message in messages)


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _may_pass(error: BaseException) -> bool:
    return _status(error) in PASSING_STATUS or isinstance(error, (*_LOST, json.JSONDecodeError))


def _is_unsupported(error: BaseException) -> bool:
    return _status(error) in _UNSUPPORTED_STATUS or isinstance(error, NotImplementedError)


def _wait(first: float) -> Callable[[tenacity.RetryCallState], float]:
    def seconds(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        told = _retry_after(error)
        return min(told if told is not None else first * 2 ** (state.attempt_number - 1), _LONGEST_WAIT)

    return seconds


def _retry_after(error: BaseException | None) -> float | None:
    """Read how many seconds the server wants us to wait, given as seconds or as a date."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _as_model_error(handle: ModelHandle, error: Exception) -> Exception:
    """Say in one line what a server or a connection did; errors of other kinds stay what they are."""
    status = _status(error)
    said = " ".join(redact(str(error), handle.model).split())[:300]
    if status in (401, 403):
        return ModelError(f"{handle.name}: the server refused the key (HTTP {status}); check OPENAI_API_KEY")
    if status is not None:
        hint = "; try temperature=none" if "temperature" in said else ""
        return ModelError(f"{handle.name}: HTTP {status}: {said}{hint}")
    if isinstance(error, TimeoutError | openai.APITimeoutError | httpx.TimeoutException):
        return ModelError(f"{handle.name}: no reply in time; raise request_timeout or try again")
    if isinstance(error, _LOST):
        address = getattr(handle.model, "openai_api_base", None) or "its server"
        return ModelError(f"{handle.name}: cannot reach {redact(str(address))}; is the server running?")
    if isinstance(error, json.JSONDecodeError) or (
        isinstance(error, TypeError) and isinstance(handle.model, BaseChatOpenAI)
    ):
        return ModelError(f"{handle.name}: the server's reply is not in the OpenAI format ({said})")
    if isinstance(error, openai.OpenAIError | asyncio.InvalidStateError):
        return ModelError(f"{handle.name}: {said}")
    return error
