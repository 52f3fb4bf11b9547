"""How a request is refused: by a status and one line, in the form that clients of the endpoint's protocol read."""

import asyncio
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

from pydantic import JsonValue
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from hopgraph.state import HopgraphError

MCP_PATH = "/mcp"
CLIENT_LEFT = 499  # the status for the log where the client has disconnected
REQUEST_ID_HEADER = "X-Request-ID"

_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603  # JSON-RPC's codes
_MAX_DRAINED_BYTES = 20_000_000
_DRAIN_SECONDS = 10.0
_REQUEST_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_current_id: ContextVar[str] = ContextVar("hopgraph_request_id", default="")


def path_in_app(scope: Scope) -> str:
    """Return a request's path without that under which the app is mounted in another."""
    path: str = scope.get("path", "")
    return path.removeprefix(scope.get("root_path", ""))


def begin_request(scope: Scope) -> str:
    """Take the id that a request brings, as from a proxy, or make one; what it asks is logged under it."""
    given = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
    _current_id.set(given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex[:16])
    return _current_id.get()


def current_request_id() -> str:
    """Return the id of the current request; a new one outside of any, as for the page's events."""
    return _current_id.get() or uuid.uuid4().hex[:16]


class BusyError(HopgraphError, RuntimeError):
    """More is asked than the app does at once; to be tried again (HTTP 429)."""


class QuotaError(BusyError):
    """More is asked than a user may in a day; not to be tried again soon."""


@dataclass(frozen=True)
class Refusal:
    """An HTTP error; `param` names the field of the body that it is about."""

    status: int
    message: str
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    param: str | None = None

    def body(self) -> dict[str, JsonValue]:
        """Return the JSON body, as OpenAI's API writes errors."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        kind = "rate_limit_error" if self.status == 429 else kind
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; a WebSocket is closed."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await self.response(path_in_app(scope))(scope, receive, send)

    def response(self, path: str) -> JSONResponse:
        """Return it in the form of the path's protocol: JSON-RPC's for MCP, else OpenAI's with FastAPI's `detail`."""
        body = {**self.body(), "detail": self.message}
        if path == MCP_PATH or path.startswith(f"{MCP_PATH}/"):
            code = _INTERNAL_ERROR if self.status >= 500 else _INVALID_REQUEST
            error: dict[str, JsonValue] = {"code": code, "message": self.message, "data": self.code}
            body = {"jsonrpc": "2.0", "id": None, "error": error}
        return JSONResponse(body, self.status, self.headers)


async def drain_body(receive: Receive) -> None:
    """Read and discard a refused body, up to a limit, so that the client gets to read the refusal."""
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while size < _MAX_DRAINED_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return
