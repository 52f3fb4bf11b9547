"""Tell failures of requests apart: what may pass, what a server does not support, what to say in the end.

The OpenAI packages take half a second to import, so they are looked for among the loaded modules: where
they are not loaded, none of their errors can have been raised.
"""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import tenacity

from hopgraph.state import ModelError
from hopgraph.tools.models.redact import redact
from hopgraph.tools.models.resolve import ModelHandle
from hopgraph.tools.models.structured import is_openai

PASSING_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that may pass when the request is sent again."""
UNSUPPORTED_STATUS = frozenset({400, 404, 405, 415, 422, 501})
"""HTTP statuses with which servers refuse a way of asking for JSON that they do not know."""


def may_pass(error: BaseException) -> bool:
    """Tell whether the same request may succeed later: rate limits, server errors, lost connections."""
    return status_of(error) in PASSING_STATUS or _is_lost(error) or isinstance(error, json.JSONDecodeError)


def is_unsupported(error: BaseException) -> bool:
    """Tell whether the server, or the model's class, does not know this way of asking for JSON."""
    return status_of(error) in UNSUPPORTED_STATUS or isinstance(error, NotImplementedError)


def status_of(error: BaseException) -> int | None:
    """Get the HTTP status of any provider's error; None where there is none."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def retry_after(error: BaseException | None) -> float | None:
    """Read how many seconds the server wants us to wait, given as seconds or as a date; None if it does not say."""
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


def patience(first: float, longest: float) -> Callable[[tenacity.RetryCallState], float]:
    """Make the rule of how long to wait before a request is sent again.

    What the server says in Retry-After; else `first` seconds, doubled for each further time. At most `longest`.
    """

    def seconds(state: tenacity.RetryCallState) -> float:
        told = retry_after(state.outcome.exception() if state.outcome else None)
        return min(told if told is not None else first * 2 ** (state.attempt_number - 1), longest)

    return seconds


def retrying(attempts: int, first: float, longest: float) -> tenacity.AsyncRetrying:
    """Make what sends a request up to `attempts` times while its failure may pass; the last failure is raised."""
    return tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(may_pass),
        stop=tenacity.stop_after_attempt(attempts),
        wait=patience(first, longest),
        reraise=True,
    )


def as_model_error(handle: ModelHandle, error: Exception) -> Exception:
    """Say in one line what a server or a connection did; errors of other kinds stay what they are."""
    status = status_of(error)
    said = " ".join(redact(str(error), handle.model).split())[:300]
    if status == 401:
        which = "OPENAI_API_KEY" if is_openai(handle.model) else "its provider's API key"
        return ModelError(f"{handle.name}: the server refused the key (HTTP 401: {said}); check {which}")
    if status is not None:
        hint = "; try temperature=none" if "temperature" in said else ""
        return ModelError(f"{handle.name}: HTTP {status}: {said}{hint}")
    if isinstance(error, TimeoutError | httpx.TimeoutException | _openai_error("APITimeoutError")):
        return ModelError(f"{handle.name}: no reply in time; raise request_timeout or try again")
    if _is_lost(error):
        address = getattr(handle.model, "openai_api_base", None) or "its server"
        return ModelError(f"{handle.name}: cannot reach {redact(str(address))}; is the server running?")
    if isinstance(error, json.JSONDecodeError) or (isinstance(error, TypeError) and is_openai(handle.model)):
        return ModelError(f"{handle.name}: the server's reply is not in the OpenAI format ({said})")
    if isinstance(error, _openai_error("OpenAIError")):
        return ModelError(f"{handle.name}: {said}")
    return error


def is_openai_error(error: BaseException, name: str) -> bool:
    """Tell whether an error is of the named class of the openai package."""
    return isinstance(error, _openai_error(name))


def _is_lost(error: BaseException) -> bool:
    kinds = (httpx.TransportError, ConnectionError, TimeoutError, _openai_error("APIConnectionError"))
    return isinstance(error, kinds)


class _NeverRaised(Exception):  # noqa: N818 - it stands in for a class that is not loaded
    pass


def _openai_error(name: str) -> type[BaseException]:
    found: Any = getattr(sys.modules.get("openai"), name, _NeverRaised)
    return found
