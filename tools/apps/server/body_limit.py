"""The size of a request's body, and the time that it may take to come."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopgraph.tools.apps.server.refusal import Refusal, drain_body, path_in_app
from hopgraph.tools.apps.server.server_options import UPLOAD_PATH, ServingOptions

_FORM_OVERHEAD = 100_000
"""Bytes that a form adds to the files that it uploads."""
_SECONDS, _BYTES_PER_SECOND = 30, 10_000
"""A body may take so many seconds, and one more for each so many bytes of it that came."""
_CLOSING = {"Connection": "close"}
"""Else what is still sent would be read and discarded without end."""


class BodyLimit:
    """Refuses bodies that are too large, also chunked ones, or too slow."""

    def __init__(self, app: ASGIApp, options: ServingOptions) -> None:
        self._app = app
        self._limit, self._upload_limit = options.max_body_bytes, options.max_upload_bytes + _FORM_OVERHEAD

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        limit = self._upload_limit if path_in_app(scope).startswith(UPLOAD_PATH) else self._limit
        body = _Body(limit, receive, send)
        stated = Headers(scope=scope).get("content-length", "")
        if stated.isdecimal() and int(stated) > limit:
            body.refusal = body.too_large
        else:
            try:
                await self._app(scope, body.receive, body.send)
            except Exception:  # frameworks wrap `_RefusedError`; what failed because of a refusal is answered by it
                if body.refusal is None:
                    raise
        if body.refusal and not body.answered:
            if body.refusal is body.too_large:
                await drain_body(receive)
            await body.refusal(scope, receive, send)


class _RefusedError(Exception):
    """A body has grown too large on its way, or takes too long."""


class _Body:
    """The body of one request on its way; what an app answers to a refused one is dropped."""

    def __init__(self, limit: int, receive: Receive, send: Send) -> None:
        self._limit, self._receive, self._send = limit, receive, send
        self._size, self._more, self._began = 0, True, asyncio.get_running_loop().time()
        why = f"the request has more than {limit:,} bytes; send less"
        self.too_large = Refusal(413, why, "request_too_large", _CLOSING)
        self.refusal: Refusal | None = None
        self.answered = False

    async def receive(self) -> Message:
        if self.refusal is None:
            try:
                until = self._began + _SECONDS + self._size / _BYTES_PER_SECOND
                async with asyncio.timeout_at(until if self._more else None):
                    message = await self._receive()
            except TimeoutError:
                self.refusal = Refusal(408, "the request's body came too slowly", "request_timeout", _CLOSING)
            else:
                self._size += len(message.get("body", b""))
                self._more = message.get("more_body", False)
                if self._size <= self._limit:
                    return message
                self.refusal = self.too_large
        raise _RefusedError

    async def send(self, message: Message) -> None:
        if self.answered or self.refusal is None:
            self.answered = True
            await self._send(message)
