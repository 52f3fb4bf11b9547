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
        self._clients, self._busy, self._addresses = list[Any](), list[int](), dict[str, Any]()

    async def post(self, path: str, content: bytes) -> Any:
        """Send a body, and return the HTTP client's response; its errors pass."""
        number = next((number for number, busy in enumerate(self._busy) if busy < _REQUESTS), len(self._busy))
        if number == len(self._clients):
            self._clients.append(self._make())
            self._clients[-1].headers.update(self._headers)
            self._busy.append(0)
        client = self._clients[number]
        if path not in self._addresses:  # parsed once
            self._addresses[path] = type(client.base_url)(f"{self._url}{path}")
        self._busy[number] += 1
        try:
            return await client.post(self._addresses[path], content=content)
        finally:
            self._busy[number] -= 1

    async def aclose(self) -> None:
        """Close every connection."""
        for client in self._clients:
            await client.aclose()
