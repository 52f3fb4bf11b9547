"""The body of a request on its way to an app: refused as soon as it is too much, or comes too slowly."""

import asyncio
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopgraph.tools.apps.server.refusal import Refusal, drain_body

CLOSING = {"Connection": "close"}  # else what is still sent would be read and discarded without end
_BODY_SECONDS, _BYTES_PER_SECOND = 30, 10_000
"""A body may take so many seconds, and one more for each so many bytes of it that came."""
_SILENT_SECONDS = 20.0
"""For which nothing of it may come."""

Count = Callable[[int], Refusal | None]


def at_most(limit: int) -> Count:
    """Refuse bodies of more bytes."""
    why = f"the request has more than {limit:,} bytes; send less"
    refusal = Refusal(413, why, "request_too_large", CLOSING)
    size = 0

    def count(more: int) -> Refusal | None:
        nonlocal size
        size += more
        return refusal if size > limit else None

    return count


class _RefusedError(Exception):
    """A body has grown too large on its way, or takes too long."""


class RequestBody:
    """The body of one request; `count` is told the bytes of each part as it comes, and refuses what is too much."""

    def __init__(self, count: Count, receive: Receive, send: Send) -> None:
        self._count, self._receive, self._send = count, receive, send
        self._size, self._more, self._began = 0, True, asyncio.get_running_loop().time()
        self._refusal: Refusal | None = None
        self._answered = False

    async def pass_on(self, app: ASGIApp, scope: Scope, limit: int | None = None) -> None:
        """Let an app answer; what it answers to a body that is refused on its way is dropped.

        A body that is stated to have more bytes than the `limit` is refused before it comes.
        """
        stated = Headers(scope=scope).get("content-length", "")
        if limit is not None and stated.isdecimal() and int(stated) > limit:
            self._refusal = at_most(limit)(int(stated))
        else:
            try:
                await app(scope, self.receive, self.send)
            except Exception:  # frameworks wrap `_RefusedError`; what failed because of a refusal is answered by it
                if self._refusal is None:
                    raise
        if self._refusal and not self._answered:
            if self._refusal.status != 408:
                await drain_body(self._receive)
            await self._refusal(scope, self._receive, self._send)

    async def receive(self) -> Message:
        """Receive the next part for the app."""
        if self._refusal is None:
            now = asyncio.get_running_loop().time()
            until = min(self._began + _BODY_SECONDS + self._size / _BYTES_PER_SECOND, now + _SILENT_SECONDS)
            try:
                async with asyncio.timeout_at(until if self._more else None):
                    message = await self._receive()
            except TimeoutError:
                self._refusal = Refusal(408, "the request's body came too slowly", "request_timeout", CLOSING)
            else:
                came = len(message.get("body", b""))
                self._size += came
                self._more = message.get("more_body", False)
                self._refusal = self._count(came)
                if self._refusal is None:
                    return message
        raise _RefusedError

    async def send(self, message: Message) -> None:
        """Send what the app answers, unless its body was refused before."""
        if self._answered or self._refusal is None:
            self._answered = True
            await self._send(message)
