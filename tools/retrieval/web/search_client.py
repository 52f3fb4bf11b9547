"""Requests to a search engine: a time limit, retries, one line for what went wrong, and never a key.

The client lives on the background loop, like those of language models, so that every event loop of the
process shares its connections.
"""

import asyncio
import json
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any
from weakref import WeakKeyDictionary

import httpx

from hopgraph.state import CorpusError
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.io.http_retries import retrying, status_of
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.web.search_apis import (
    KEY_VARIABLE,
    OtherFormError,
    WebEngine,
    WebPage,
    WebRequest,
)

FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
"""Seconds before the first retry, doubled for each further one, and at most; the server's Retry-After comes first."""
PARALLEL = 4
"""Requests under way at once, per engine."""
LARGEST_ANSWER = 16 * 1024**2
"""Bytes; more is no list of results."""

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()


@dataclass
class WebClient:
    """Searches with one engine."""

    engine: WebEngine
    seconds: float = 10.0
    """Until one request is given up."""
    retries: int = 3
    """How often a request is sent again after a rate limit, a server error or a lost connection."""
    _limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARALLEL))

    async def search(self, query: str, k: int) -> list[WebPage]:
        """Find pages; from any event loop.

        Returns:
            At most k, best first; empty when nothing is found.

        Raises:
            CorpusError: refused, unreachable, still failing after the retries, or an answer of another form.
        """
        return await run_on(background_loop(), self._search(query, k))

    async def _search(self, query: str, k: int) -> list[WebPage]:
        pages: dict[str, WebPage] = {}
        request: WebRequest | None = self.engine.request(query, k)
        # An answer that always promises more must not keep us for ever.
        for _ in range(k):
            answer = await self._answer(request)
            try:
                pages |= {page.url: page for page in self.engine.read(answer)}
                request = self.engine.next_request(request, answer)
            except OtherFormError as error:
                raise self._failed(f"the answer is not as expected: {error}") from None
            if request is None or len(pages) >= k:
                break
        return list(pages.values())[:k]

    async def _answer(self, request: WebRequest) -> Any:
        try:
            async with self._limit:
                return await retrying(self.retries + 1, FIRST_WAIT, LONGEST_WAIT)(self._send, request)
        except httpx.HTTPStatusError as error:
            raise self._refused(error) from None
        except (httpx.TimeoutException, TimeoutError):
            raise self._failed(f"no answer in {self.seconds:g} s") from None
        except httpx.TransportError:
            raise self._failed(f"cannot reach {self.engine.url}") from None
        except (ValueError, RecursionError):
            raise self._failed("the answer is not JSON") from None

    async def _send(self, request: WebRequest) -> Any:
        loop = asyncio.get_running_loop()
        client = _clients.get(loop) or _clients.setdefault(loop, httpx.AsyncClient())
        method = "GET" if request.body is None else "POST"
        headers = {"User-Agent": f"hopgraph/{version('hopgraph')}", **self.engine.headers()}
        # The time limit is for the whole answer; httpx's own is for each piece of it.
        async with (
            asyncio.timeout(self.seconds),
            client.stream(
                method, request.url, params=dict(request.parameters), json=request.body, headers=headers, timeout=None
            ) as response,
        ):
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > LARGEST_ANSWER:
                    raise self._failed(f"the answer is larger than {LARGEST_ANSWER:,} bytes")
            if response.is_redirect:
                raise self._failed(f"HTTP {response.status_code}: it redirects, which is not followed; mend base_url")
            if response.is_error:
                message = bytes(content[:2000]).decode(errors="replace")
                raise httpx.HTTPStatusError(message, request=response.request, response=response)
            return json.loads(content)

    def _refused(self, error: httpx.HTTPStatusError) -> CorpusError:
        status = status_of(error)
        hint = f"; check {KEY_VARIABLE}" if status in {401, 403} and self.engine.headers() else ""
        return self._failed(f"HTTP {status}: {' '.join(str(error).split())[:200]}{hint}")

    def _failed(self, what: str) -> CorpusError:
        return CorpusError(redact(f"{self.engine.name}: {what}"))
