"""Which failed requests may succeed later, and how long to wait before they are sent again.

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

PASSING_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that may pass when the request is sent again."""


def may_pass(error: BaseException) -> bool:
    """Tell whether the same request may succeed later: rate limits, server errors, lost connections."""
    return status_of(error) in PASSING_STATUS or is_lost(error) or isinstance(error, json.JSONDecodeError)


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


def is_openai_error(error: BaseException, name: str) -> bool:
    """Tell whether an error is of the named class of the openai package."""
    return isinstance(error, openai_error(name))


def is_lost(error: BaseException) -> bool:
    """Whether the connection failed or timed out, so that no status came back."""
    kinds = (httpx.TransportError, ConnectionError, TimeoutError, openai_error("APIConnectionError"))
    return isinstance(error, kinds)


class _NeverRaised(Exception):  # noqa: N818 - it stands in for a class that is not loaded
    pass


def openai_error(name: str) -> type[BaseException]:
    """Return the named error class of the openai package; one that nothing raises where it is not loaded."""
    found: Any = getattr(sys.modules.get("openai"), name, _NeverRaised)
    return found
