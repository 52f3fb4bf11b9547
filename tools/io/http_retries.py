"""Retries: which failed requests to retry, and how long to wait before.

The OpenAI packages take half a second to import, so they are looked up among the loaded modules: where
they are not loaded, none of their errors can have been raised.
"""

import asyncio
import json
import math
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

import httpx

from hopgraph.state.errors import FailureKind
from hopgraph.tools.io.http_clients import describe_proxy

ResultT = TypeVar("ResultT")

_TRANSIENT_STATUS = frozenset({408, 409, 423, 424, 425, 429, 499})
"""With these and every status from 500 on, except 501 and 505, the same request may succeed later."""
_SAYS_MORE = frozenset(range(400, 500)) - {401, 402}
"""HTTP statuses for which the message decides whether the same request may succeed later."""
PASSING = re.compile(
    r"(?i)overloaded|(?:over|at|no) capacity|temporar(?:y|ily)|"
    r"(?:currently|service|server) (?:is )?(?:unavail|over|busy)|rate.?limit|too many requests|throttl(?:ed|ing)|"
    r"concurrency|time(?:d.?)?out|had an error|please retry\b(?! with| after [a-z]+ing)|"
    r"\b(?:busy|loading(?! was)|starting up)\b|capacity.exceeded|"
    r"(?:try again|retry) (?:later|in \d|after \d|shortly|soon)"
)
"""Words in transient errors."""
SPENT = re.compile(
    r"(?i)insufficient.{0,2}(?:quota|balance|credit|fund)|exceeded_current_quota|credit balance|out of credits|"
    r"billing.{0,20}limit|api.?key (?:is )?(?:not valid|invalid|expired|required|missing)|authentication fail|"
    r"(?:invalid|incorrect|missing|\bno).{0,3}api.?key|available credits|spending limit|budget (?:has been )?exceeded|"
    r"exceeded.?budget|over budget|arrear|good standing|余额不足|额度不足|欠费"
)
"""Words in errors that only another key or more money resolves."""
FILTERED = re.compile(
    r"(?i)content.?filter|content.?management|moderation|flagged|inappropriate|\bsafety\b|content exists risk|"
    r"data_inspection|prompt blocked|high risk|敏感"
)
"""Words in refusals of what one request says."""
ECHO = re.compile(r"messages\W{1,6}\[\W{0,3}\{.*", re.DOTALL)
"""A request's messages as JSON or as Python writes them, and what follows."""
_TOO_LARGE = re.compile(r"request too large|must be reduced", re.IGNORECASE)
"""Words in rate limits that a single request exceeds."""
REFUSED_STATUS = frozenset({401, 402, 403, 404})
"""HTTP statuses with which every other request will fail, too: the key, the account, the address or the model."""
_LONG_WAIT, _LONGEST = 60, 30 * 86_400  # seconds
_EPOCH = 10**9
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:\d{1,15}(?:\.\d{1,15})?\s?[a-z]{1,15}\s?)+")
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s?(ms|[smhd])")
_WAIT_IN_WORDS = re.compile(
    r"(?i)(?:try again (?:in|after)|retry.(?:in|after)(?:_seconds)?\W{0,4}|please wait|"
    r"(?:retry.?delay|ratelimit-reset)\W{1,5})\s*(\d[\d.]*\s?[a-z]*(?:\d[\d.]*[a-z]+)*)"
)
_RESET = re.compile(r"(?:x-)?ratelimit-reset(?:-\w+)?", re.IGNORECASE)
_ESCAPED = re.compile(r"\\u(?!00|d[89a-f])([\da-f]{4})", re.IGNORECASE)  # for words in other than ASCII
_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})  # OpenSSL's codes for certificates whose issuer is not known


class UnreadableReplyError(Exception):
    """A reply with status 200 that is not in the server's format: an error, a proxy's page, half a body."""


def classify_failure(error: BaseException) -> FailureKind:
    """Classify an error: an outage (rate limit, server error, lost or unreadable), a refusal, or neither."""
    status = status_of(error)
    lost = (httpx.TransportError, ConnectionError, TimeoutError, openai_class("APIConnectionError"))
    unreadable = (json.JSONDecodeError, UnreadableReplyError)
    said = text_of(error) if status in _SAYS_MORE else ""
    if SPENT.search(said):
        return "refusal"
    if _TOO_LARGE.search(said) or FILTERED.search(said):
        return ""
    if status != 429 and PASSING.search(said):
        return "outage"
    transient = status in _TRANSIENT_STATUS or (status is not None and status >= 500 and status not in (501, 505))
    if transient or isinstance(error, lost + unreadable):
        return "outage"
    return "refusal" if status in REFUSED_STATUS else ""


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of any provider's error; None if there is none."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def describe_wait(error: BaseException) -> str:
    """Report how long a server asks to wait, if that is long; else empty."""
    asked = retry_after(error) or 0
    return f"; it asks to wait {timedelta(seconds=round(asked))}" if asked > _LONG_WAIT else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Iterate over an error and its causes."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def text_of(error: BaseException) -> str:
    """Return a server's answer to a failed request without the prompt that it may repeat; else the message."""
    is_status = isinstance(error, openai_class("APIStatusError"))
    text = cast("Any", error).response.text if is_status else str(error)
    return ECHO.sub("", _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text))


def certificate_problem(error: BaseException) -> str:
    """Return why a server's certificate was refused, and what helps; empty if it was not."""
    cause = next((each for each in _causes(error) if hasattr(each, "verify_message")), None)
    advice = ""
    if getattr(cause, "verify_code", None) in _UNKNOWN_ISSUER:
        advice = " (name its authority's file in SSL_CERT_FILE, and start again)"
    return f"{getattr(cause, 'verify_message', '')}{advice}"


def describe_unreachable(error: BaseException, address: str, *variables: str) -> str:
    """Describe in a line why a server could not be reached, and what to do; `variables` as for `find_proxy`."""
    if refused := certificate_problem(error):
        return f"the certificate of {address} is refused: {refused}"
    clients = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    names = ("RemoteProtocolError", "ProxyError", "TooManyRedirects")
    kinds = tuple(getattr(each, name) for each in clients for name in names)
    if said := next((" ".join(str(each).split()) for each in _causes(error) if isinstance(each, kinds)), ""):
        return f"{address}, or the proxy to it, did not reply in HTTP ({said:.200})"
    proxy = describe_proxy(address, *variables)
    return f"cannot reach {address} {proxy}" if proxy else f"cannot reach {address}; is the server running?"


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that a server asks to wait, in its headers or in words; None if it does not."""
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", None) or {}
    asked = [f"{headers.get('retry-after-ms', '')}ms", headers.get("retry-after", "")]
    asked += [found[1] for found in _WAIT_IN_WORDS.finditer(text_of(error)[:10_000])]
    if (given := next((seconds for each in asked if (seconds := _seconds(each)) is not None), None)) is not None:
        return given
    resets = [(name, name.replace("reset", "remaining")) for name in headers if _RESET.fullmatch(name)]
    waits = [_seconds(headers[name]) for name, left in resets if headers.get(left, "0") == "0"]
    return max((each for each in waits if each is not None), default=None)


def _seconds(text: str) -> float | None:
    """Parse a wait: seconds, a duration such as 1m3.5s, a date, or a time in seconds or milliseconds since 1970."""
    text = text.strip()
    with suppress(ValueError):
        number = float(text)
        if not math.isfinite(number):
            return None
        if number > _EPOCH:
            number = (number / 1000 if number > _EPOCH * 100 else number) - time.time()
        return min(max(0.0, number), _LONGEST)
    if _DURATION.fullmatch(text):
        return min(sum(float(number) * _UNITS[unit] for number, unit in _AMOUNT.findall(text)), _LONGEST)
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    return None


async def with_retries(
    send: Callable[[], Awaitable[ResultT]],
    retries: int,
    first: float,
    longest: float,
    report: Callable[[Exception, int, float], None] | None = None,
) -> ResultT:
    """Send a request, with retries after transient failures, up to a maximum; raise the last failure.

    Waits as Retry-After says, else `first` seconds, doubled for each further retry; at most `longest`, and not at all
    where Retry-After says more than all waits together. `report` is called before each wait with the error, the number
    of the attempt, from 1, and the seconds.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            return await send()
        except Exception as error:
            if attempt > retries or classify_failure(error) != "outage":
                raise
            asked = retry_after(error)
            if asked and asked > longest * (1 + retries - attempt):
                raise
            seconds = min(first * 2 ** (attempt - 1) if asked is None else asked, longest)
            if report:
                report(error, attempt, seconds)
        await asyncio.sleep(seconds)


def openai_class(name: str) -> Any:
    """Return the named class of the openai package; an empty tuple of classes if it is not loaded."""
    return getattr(sys.modules.get("openai"), name, ())
