"""HTTP responses for faults."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from support.servers.chat_request import Problem
from support.servers.faults import Drop, ErrorStatus

BreakOff = Callable[[tuple[str, int]], None]
"""Closes the connection of the client at this address."""


class DroppedResponse(Response):
    """Sends part of a response and closes the connection."""

    def __init__(self, body: bytes, drop: Drop, break_off: BreakOff, *, streamed: bool) -> None:
        super().__init__(body, media_type="text/event-stream" if streamed else "application/json")
        if streamed:
            del self.headers["content-length"]
        self._drop = drop
        self._break_off = break_off

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._drop.before != "answer":
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            part = b"" if self._drop.before == "body" else bytes(self.body)[: len(self.body) // 2]
            await send({"type": "http.response.body", "body": part, "more_body": True})
        self._break_off(scope["client"])
        while (await receive())["type"] != "http.disconnect":
            pass


def refused(problem: Problem) -> JSONResponse:
    """Return an error in OpenAI's format."""
    return JSONResponse(problem.body(), problem.status)


def error_status(fault: ErrorStatus) -> Response:
    """Return the error response of a fault."""
    headers: dict[str, str] = {}
    if fault.retry_after is not None:
        headers["retry-after"] = _retry_after(fault.retry_after, as_date=fault.as_date)
    if fault.html:
        page = f"<html><body><h1>{fault.status}</h1><p>{fault.message}</p></body></html>"
        return HTMLResponse(page, fault.status, headers)
    kind = "rate_limit_error" if fault.status == 429 else "server_error"
    return JSONResponse(Problem(fault.status, fault.message, type=kind).body(), fault.status, headers)


def _retry_after(seconds: float, *, as_date: bool) -> str:
    if not as_date:
        return f"{seconds:g}"
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
