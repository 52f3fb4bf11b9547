"""How the guards refuse a request."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

_MAX_DRAINED_BYTES = 20_000_000
_DRAIN_SECONDS = 10.0


@dataclass(frozen=True)
class Refusal:
    """A status and one line, in a body that clients of OpenAI's API and others read."""

    status: int
    message: str
    code: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; a WebSocket is closed."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        kind = "rate_limit_error" if self.status == 429 else "invalid_request_error"
        error = {"message": self.message, "type": kind, "param": None, "code": self.code}
        body = {"error": error, "detail": self.message}
        await JSONResponse(body, self.status, self.headers)(scope, receive, send)


async def drain_body(receive: Receive) -> None:
    """Read and discard a refused body, up to a limit, so that the client gets to read the refusal."""
    size = 0
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while size < _MAX_DRAINED_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return
    except TimeoutError:
        return
