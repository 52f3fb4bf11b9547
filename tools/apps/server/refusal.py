"""How a request is refused: by a status and one line, in a body that clients of OpenAI's API and others read."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import JsonValue
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

_MAX_DRAINED_BYTES = 20_000_000
_DRAIN_SECONDS = 10.0


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
        """Send it, also as FastAPI's `detail`; a WebSocket is closed."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await JSONResponse({**self.body(), "detail": self.message}, self.status, self.headers)(scope, receive, send)


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
