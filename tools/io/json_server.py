"""JSON over HTTP to a server that scores: retried, limited, with errors in one line and without keys.

The client lives on the background loop, like those of language models, so that every event loop of the
process shares its connections.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx

from hopgraph.state import ModelError, SpecError
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.io.http_retries import retrying, status_of
from hopgraph.tools.io.redact import redact

SECONDS = 60.0
"""Until one request is given up."""
ATTEMPTS = 5
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before the first retry, doubled for each further one, and at most; the server's Retry-After comes first."""
PARALLEL = 4
"""Requests under way at once, per server."""


@dataclass
class Server:
    """A server at one address."""

    url: str
    key_variable: str
    """The environment variable with its key, if it wants one."""
    _limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARALLEL))

    def __post_init__(self) -> None:
        """Check the address.

        Raises:
            SpecError: it is none.
        """
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SpecError(f"{redact(self.url)!r} is not an address such as http://127.0.0.1:8080")

    async def post(self, body: dict[str, Any], read: Callable[[Any], list[float]]) -> list[float]:
        """Send a request and read the scores out of its answer.

        Args:
            body: sent as JSON.
            read: takes the decoded answer; raises ValueError, KeyError, TypeError or IndexError for one of
                another form.

        Raises:
            ModelError: refused, unreachable, still failing after the retries, or an answer of another form.
        """
        answer = await run_on(background_loop(), self._retrying(body))
        try:
            return read(answer)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            said = f"{type(error).__name__}: {error}"[:120]
            raise ModelError(
                f"{redact(self.url)}: the answer has another form than expected ({said}): {str(answer)[:120]}"
            ) from None

    async def _retrying(self, body: dict[str, Any]) -> Any:
        try:
            async with self._limit:
                return await retrying(ATTEMPTS, FIRST_WAIT, LONGEST_WAIT)(self._request, body)
        except httpx.HTTPStatusError as error:
            said = " ".join(redact(error.response.text).split())[:200]
            hint = f"; set {self.key_variable}" if error.response.status_code in {401, 403} else ""
            raise ModelError(f"{redact(self.url)}: HTTP {status_of(error)}: {said}{hint}") from None
        except httpx.TimeoutException:
            raise ModelError(f"{redact(self.url)}: no answer in {SECONDS:g} s") from None
        except httpx.TransportError:
            raise ModelError(f"cannot reach {redact(self.url)}; is the server running?") from None
        except ValueError:
            raise ModelError(f"{redact(self.url)}: the answer is not JSON") from None

    async def _request(self, body: dict[str, Any]) -> Any:
        key = os.environ.get(self.key_variable)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        response = await _client().post(self.url, json=body, headers=headers)
        response.raise_for_status()
        return response.json()


@cache
def _client() -> httpx.AsyncClient:
    """Get the client that all servers share; it lives on the background loop, and as long as the process."""
    return httpx.AsyncClient(timeout=SECONDS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_client.cache_clear)
