"""JSON over HTTP: retried, limited, with one-line errors that show no key.

The client lives on the background loop, like those of language models, so that every event loop of the
process shares its connections.
"""

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from typing import Any, Literal, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

import httpx
from pydantic import ValidationError

from hopgraph.state import HopgraphError, ModelError, SpecError
from hopgraph.state.errors import FailureKind, format_error, server_error
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.io.http_clients import client_options
from hopgraph.tools.io.http_retries import (
    classify_failure,
    describe_unreachable,
    describe_wait,
    status_of,
    with_retries,
)
from hopgraph.tools.io.redact import redact
from hopgraph.tools.io.reply_bounds import OversizedReplyError, ask_for_plain, bound_reply
from hopgraph.tools.io.server_errors import message_of

RETRIES = 4
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before the first retry, doubled for each further one, and at most; the server's Retry-After comes first."""
PARALLEL = 4
"""Maximum concurrent requests per server."""
ResultT = TypeVar("ResultT")


@dataclass
class JsonServer:
    """A server at one address."""

    url: str
    key_variable: str = ""
    """The environment variable with its key; unset for a server without one."""
    key_header: str = ""
    """The header that takes the key as it is; empty: `Authorization: Bearer KEY`."""
    name: str = ""
    """Shown in messages instead of the address."""
    error: type[HopgraphError] = ModelError
    seconds: float = 60.0
    """Time limit of one request, for the whole answer."""
    retries: int | None = None
    """Retries after a rate limit, a server error or a lost connection; None: RETRIES."""
    largest: int = 16 * 1024**2
    """Maximum bytes; anything larger is not a valid answer."""
    _limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARALLEL), repr=False)

    def __post_init__(self) -> None:
        """Check the address; SpecError if it has no host, or a scheme other than HTTP."""
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SpecError(f"{redact(self.url)!r} is not an address such as http://127.0.0.1:8080")

    async def request(self, method: Literal["GET", "POST"], parse: Callable[[Any], ResultT], **content: Any) -> ResultT:
        """Send a request with `json` or `params`, as in httpx, and parse its answer.

        `parse` takes the decoded answer; it raises ValueError, LookupError or TypeError for one of another form. A
        HopgraphError of the class `error`: refused, unreachable, failing after the retries, or another form.
        SettingsError: the environment names a proxy or certificates that cannot be used.
        """
        answer = await run_on(background_loop(), self._send_with_retries(method, content))
        try:
            return parse(answer)
        except (ValueError, LookupError, TypeError) as error:
            shown = redact(f"{_reason(error)}: {answer!r:.120}")
            raise self._failure(f"unexpected answer: {shown}") from None

    async def _send_with_retries(self, method: str, content: dict[str, Any]) -> Any:
        retries = RETRIES if self.retries is None else self.retries
        client = _client(**await asyncio.to_thread(client_options, self.url))
        send = partial(self._send, client, method, content)
        try:
            async with self._limit:
                return await with_retries(send, retries, FIRST_WAIT, LONGEST_WAIT)
        except httpx.HTTPStatusError as error:
            status, reason = status_of(error), " ".join(redact(message_of(error)).split())[:200]
            hint = describe_wait(error)
            if self.key_variable and status in {401, 403}:
                hint = f"; {'check' if self._key() else 'set'} {self.key_variable}"
            raise self._failure(f"HTTP {status}: {reason}{hint}", classify_failure(error)) from None
        except (httpx.TimeoutException, TimeoutError):
            raise self._failure(f"no answer in {self.seconds:g} s", "outage") from None
        except httpx.TransportError as error:
            lead = f"{self.name}: " if self.name else ""
            raise server_error(self.error, f"{lead}{describe_unreachable(error, redact(self.url))}", "outage") from None
        except UnicodeEncodeError as error:
            what = f"the request, or {self.key_variable or 'its key'}"
            raise self._failure(f"{what}, cannot be sent: {error.reason}") from None
        except OversizedReplyError as error:
            raise self._failure(str(error)) from None
        except (ValueError, RecursionError):
            raise self._failure("the answer is not JSON") from None

    async def _send(self, client: httpx.AsyncClient, method: str, content: dict[str, Any]) -> Any:
        key = self._key()
        authorization = {self.key_header: key} if self.key_header else {"Authorization": f"Bearer {key}"}
        content = {**content, "extensions": {"largest": self.largest}}
        # The time limit is for the whole answer; httpx's own is for each piece of it.
        async with (
            asyncio.timeout(self.seconds),
            client.stream(method, self.url, headers=authorization if key else {}, **content) as response,
        ):
            received = await response.aread()
            if response.is_redirect:
                raise self._failure(f"HTTP {response.status_code}: redirects are not followed")
            if response.is_error:
                message = received[:2000].decode(errors="replace")
                raise httpx.HTTPStatusError(message, request=response.request, response=response)
            return json.loads(received)

    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip()

    def _failure(self, what: str, trouble: FailureKind = "") -> HopgraphError:
        return server_error(self.error, f"{self.name or redact(self.url)}: {what}", trouble)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return format_error(error)
    return str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"


def split_address(address: str, option: str) -> tuple[SplitResult, str | None]:
    """Split an address, and remove one option from its query, which is ours and not the server's."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    value = query.pop(option, None)
    return parts._replace(path=parts.path.rstrip("/"), query=urlencode(query)), value


@cache
def _client(**options: Any) -> httpx.AsyncClient:
    """Return the client that servers share, on the background loop, for the lifetime of the process."""
    agent = f"hopgraph/{version('hopgraph')}"
    hooks = {"request": [ask_for_plain], "response": [bound_reply]}
    return httpx.AsyncClient(headers={"User-Agent": agent}, timeout=None, event_hooks=hooks, **options)  # noqa: S113 - see `_send`


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_client.cache_clear)
