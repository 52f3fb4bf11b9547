"""Refusals of requests: a status and one line, in the format of the endpoint's protocol.

A body on its way to an app is refused as soon as it is too large or too slow.
"""

import asyncio
import re
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

from pydantic import JsonValue
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopgraph.state import HopgraphError

MCP_PATH = "/mcp"
CLIENT_LEFT = 499  # the status logged if the client disconnected
REQUEST_ID_HEADER = "X-Request-ID"

_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603  # JSON-RPC's codes
_MAX_DRAINED_BYTES = 20_000_000
_DRAIN_SECONDS = 10.0
_REQUEST_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
CLOSING = {"Connection": "close"}  # else the rest of the body would be read and discarded without limit
_BODY_SECONDS, _BYTES_PER_SECOND = 30, 10_000
"""Time limit of a body: the base, plus one second per so many bytes."""
_SILENT_SECONDS = 20.0
"""Maximum seconds without any data."""
_current_id: ContextVar[str] = ContextVar("hopgraph_request_id", default="")


def path_in_app(scope: Scope) -> str:
    """Return a request's path, without the prefix that the app is mounted under."""
    path: str = scope.get("path", "")
    return path.removeprefix(scope.get("root_path", ""))


def begin_request(scope: Scope) -> str:
    """Set and return the id that a request's questions are logged with: the one in its header, or a new one."""
    given = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
    _current_id.set(given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex[:16])
    return _current_id.get()


def current_request_id() -> str:
    """Return the id of the current request; a new one outside of requests, e.g. for the page's events."""
    return _current_id.get() or uuid.uuid4().hex[:16]


class BusyError(HopgraphError, RuntimeError):
    """The app is at capacity; try again (HTTP 429)."""


class QuotaError(BusyError):
    """The user's daily limit is exceeded; do not try again soon."""


@dataclass(frozen=True)
class Refusal:
    """An HTTP error; `param` is the field of the body that caused it."""

    status: int
    message: str
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    param: str | None = None

    def body(self) -> dict[str, JsonValue]:
        """Return the JSON body, in the format of OpenAI's errors."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        kind = "rate_limit_error" if self.status == 429 else kind
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response; close a WebSocket."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await self.response(path_in_app(scope))(scope, receive, send)

    def response(self, path: str) -> JSONResponse:
        """Return the response in the path's protocol: JSON-RPC for MCP, else OpenAI's plus FastAPI's `detail`."""
        body = {**self.body(), "detail": self.message}
        if path == MCP_PATH or path.startswith(f"{MCP_PATH}/"):
            code = _INTERNAL_ERROR if self.status >= 500 else _INVALID_REQUEST
            error: dict[str, JsonValue] = {"code": code, "message": self.message, "data": self.code}
            body = {"jsonrpc": "2.0", "id": None, "error": error}
        return JSONResponse(body, self.status, self.headers)


async def drain_body(receive: Receive) -> None:
    """Read and discard a refused body, up to a limit, so that the client can read the refusal."""
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while size < _MAX_DRAINED_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return


Count = Callable[[int], Refusal | None]


def at_most(limit: int) -> Count:
    """Return a counter that refuses bodies larger than a limit in bytes."""
    why = f"the request has more than {limit:,} bytes; send less"
    refusal = Refusal(413, why, "request_too_large", CLOSING)
    size = 0

    def count(more: int) -> Refusal | None:
        nonlocal size
        size += more
        return refusal if size > limit else None

    return count


class _RefusedError(Exception):
    """A body is too large, or takes too long."""


class RequestBody:
    """The body of one request. `count` receives the size of each chunk in bytes and may refuse the request."""

    def __init__(self, count: Count, receive: Receive, send: Send) -> None:
        self._count, self._receive, self._send = count, receive, send
        self._size, self._more, self._began = 0, True, asyncio.get_running_loop().time()
        self._refusal: Refusal | None = None
        self._answered = False

    async def pass_on(self, app: ASGIApp, scope: Scope, limit: int | None = None) -> None:
        """Let an app answer; its answer to a refused body is dropped.

        A body whose content-length exceeds the `limit` is refused before it is read.
        """
        stated = Headers(scope=scope).get("content-length", "")
        if limit is not None and stated.isdecimal() and int(stated) > limit:
            self._refusal = at_most(limit)(int(stated))
        else:
            try:
                await app(scope, self.receive, self.send)
            except Exception:  # frameworks wrap `_RefusedError`
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
        """Send the app's answer, unless the request's body was refused first."""
        if self._answered or self._refusal is None:
            self._answered = True
            await self._send(message)
