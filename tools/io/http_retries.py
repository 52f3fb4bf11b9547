"""Which failed requests are worth a retry, and how long to wait before it.

The OpenAI packages take half a second to import, so they are looked up among the loaded modules: where
they are not loaded, none of their errors can have been raised.
"""

import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx
import tenacity

from hopgraph.state.errors import Trouble

ResultT = TypeVar("ResultT")

TRANSIENT_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""HTTP statuses with which the same request may succeed later."""
REFUSED_STATUS = frozenset({401, 402, 403, 404})
"""HTTP statuses with which every other request will fail, too: the key, the account, the address or the model."""


class UnreadableReplyError(Exception):
    """A reply with status 200 that is not in the server's format: an error, a proxy's page, half a body."""


def trouble_of(error: BaseException) -> Trouble:
    """Classify an error: an outage (rate limit, server error, lost or unreadable), a refusal, or neither."""
    status = status_of(error)
    lost = (httpx.TransportError, ConnectionError, TimeoutError, openai_error("APIConnectionError"))
    unreadable = (json.JSONDecodeError, UnreadableReplyError)
    if status in TRANSIENT_STATUS or isinstance(error, lost + unreadable):
        return "outage"
    return "refusal" if status in REFUSED_STATUS else ""


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of any provider's error; None where there is none."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def retry_after(error: BaseException | None) -> float | None:
    """Return the seconds of a Retry-After header, given as seconds or as a date; None without one."""
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


def _backoff(first: float, longest: float) -> Callable[[tenacity.RetryCallState], float]:
    """Wait as Retry-After says, else `first` seconds, doubled for each further retry; at most `longest`."""

    def seconds(state: tenacity.RetryCallState) -> float:
        asked = retry_after(state.outcome.exception() if state.outcome else None)
        return min(asked if asked is not None else first * 2 ** (state.attempt_number - 1), longest)

    return seconds


class _Retrying(tenacity.AsyncRetrying):
    """Spares a request that succeeds at once, as nearly all do, the account of its attempts."""

    async def __call__(self, fn: Callable[..., Awaitable[ResultT]], *args: Any, **kwargs: Any) -> ResultT:  # pyright: ignore[reportIncompatibleMethodOverride] - only coroutine functions are retried
        try:
            return await fn(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - raised again below
            failed = [error]

        async def again() -> ResultT:
            if failed:
                raise failed.pop()
            return await fn(*args, **kwargs)

        return await super().__call__(again)


def retrying(
    attempts: int,
    first: float,
    longest: float,
    before_sleep: Callable[[tenacity.RetryCallState], None] | None = None,
) -> tenacity.AsyncRetrying:
    """Retry a request up to `attempts` times while its failure is transient; the last failure is raised."""
    return _Retrying(
        retry=tenacity.retry_if_exception(lambda error: trouble_of(error) == "outage"),
        stop=tenacity.stop_after_attempt(attempts),
        wait=_backoff(first, longest),
        before_sleep=before_sleep,
        reraise=True,
    )


class _NeverRaised(Exception):  # noqa: N818 - it stands in for a class that is not loaded
    pass


def openai_error(name: str) -> type[BaseException]:
    """Return the named error class of the openai package; one that nothing raises where it is not loaded."""
    found: Any = getattr(sys.modules.get("openai"), name, _NeverRaised)
    return found
