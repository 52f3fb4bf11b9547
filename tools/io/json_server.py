"""JSON over HTTP to a model server: retried, limited, with one-line errors that show no key.

The client lives on the background loop, like those of language models, so that every event loop of the
process shares its connections.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

import httpx

from hopgraph.state import ModelError, SpecError
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.io.http_retries import retrying, status_of
from hopgraph.tools.io.redact import redact

TIMEOUT_SECONDS = 60.0
ATTEMPTS = 5
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before the first retry, doubled for each further one, and at most; the server's Retry-After comes first."""
PARALLEL = 4
"""Requests in flight at once, per server."""

ResultT = TypeVar("ResultT")


@dataclass
class JsonServer:
    """A server at one address."""

    url: str
    key_variable: str
    """The environment variable with its key; unset for a server without one."""
    _limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARALLEL))

    def __post_init__(self) -> None:
        """Check the address.

        Raises:
            SpecError: it has no host, or another scheme than HTTP.
        """
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SpecError(f"{redact(self.url)!r} is not an address such as http://127.0.0.1:8080")

    async def post(self, body: dict[str, Any], parse: Callable[[Any], ResultT]) -> ResultT:
        """Send a request and parse its answer.

        Args:
            body: sent as JSON.
            parse: takes the decoded answer; raises ValueError, KeyError, TypeError or IndexError for one of
                another form.

        Raises:
            ModelError: refused, unreachable, still failing after the retries, or an answer of another form.
        """
        answer = await run_on(background_loop(), self._post_with_retries(body))
        try:
            return parse(answer)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            reason = f"{type(error).__name__}: {error}"[:120]
            raise ModelError(
                f"{redact(self.url)}: the answer has another form than expected ({reason}): {str(answer)[:120]}"
            ) from None

    async def _post_with_retries(self, body: dict[str, Any]) -> Any:
        try:
            async with self._limit:
                return await retrying(ATTEMPTS, FIRST_WAIT, LONGEST_WAIT)(self._post_once, body)
        except httpx.HTTPStatusError as error:
            reason = " ".join(redact(error.response.text).split())[:200]
            hint = f"; set {self.key_variable}" if error.response.status_code in {401, 403} else ""
            raise ModelError(f"{redact(self.url)}: HTTP {status_of(error)}: {reason}{hint}") from None
        except httpx.TimeoutException:
            raise ModelError(f"{redact(self.url)}: no answer in {TIMEOUT_SECONDS:g} s") from None
        except httpx.TransportError:
            raise ModelError(f"cannot reach {redact(self.url)}; is the server running?") from None
        except ValueError:
            raise ModelError(f"{redact(self.url)}: the answer is not JSON") from None

    async def _post_once(self, body: dict[str, Any]) -> Any:
        key = os.environ.get(self.key_variable)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        response = await _client().post(self.url, json=body, headers=headers)
        response.raise_for_status()
        return response.json()


def split_address(address: str, option: str) -> tuple[SplitResult, str | None]:
    """Split an address, and take one option out of its query, which is ours and not the server's."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    value = query.pop(option, None)
    return parts._replace(path=parts.path.rstrip("/"), query=urlencode(query)), value


@cache
def _client() -> httpx.AsyncClient:
    """Return the client that all servers share, on the background loop, for as long as the process lives."""
    return httpx.AsyncClient(timeout=TIMEOUT_SECONDS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_client.cache_clear)
