"""Many requests at a time to one server: several small pools of connections in place of a big one.

httpcore looks at every connection of a pool before and after each request, and asks the system about those that are
idle, so that with 64 at a time half of a request's processor time goes into its pool.
"""

from collections.abc import Callable, Mapping
from typing import Any

_REQUESTS = 8
"""At a time in one pool; the next pool is opened when all are full."""


class HttpPools:
    """HTTP clients of one event loop, made when they are needed; the first that is not busy gets the next request."""

    def __init__(self, make: Callable[[], Any], url: str, headers: Mapping[str, str]) -> None:
        self._make, self._url, self._headers = make, url, dict(headers)
        self._clients, self._busy = list[Any](), list[int]()

    async def post(self, path: str, content: bytes) -> Any:
        """Send a body, and return the HTTP client's response; its errors pass."""
        number = next((number for number, busy in enumerate(self._busy) if busy < _REQUESTS), len(self._busy))
        if number == len(self._clients):
            self._clients.append(self._make())
            self._busy.append(0)
        self._busy[number] += 1
        try:
            return await self._clients[number].post(f"{self._url}{path}", content=content, headers=self._headers)
        finally:
            self._busy[number] -= 1

    async def aclose(self) -> None:
        """Close every connection."""
        for client in self._clients:
            await client.aclose()
