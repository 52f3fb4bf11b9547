"""One line for each request: the path and the outcome, and nothing of the contents."""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopgraph.tools.text.sanitize import truncate_line

LOGGER = logging.getLogger("hopgraph.access")
_CLIENT_LEFT = 499


class AccessLog:
    """Logs each request when its reply has ended: method, path, status, milliseconds, user."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        began, status, ended = time.perf_counter(), 500, False

        async def observe(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                ended = True
            await send(message)

        try:
            await self._app(scope, receive, observe)
        finally:
            milliseconds = 1000 * (time.perf_counter() - began)
            user = scope.get("state", {}).get("user", "-")
            # What follows `=` in a path of the page is a file's name.
            path = truncate_line(scope["path"].partition("=")[0], 120)
            logged = status if ended or status >= 400 else _CLIENT_LEFT
            # A page asks for a hundred files as it opens.
            level = logging.DEBUG if scope["method"] == "GET" and status < 400 else logging.INFO
            LOGGER.log(level, "%s %s %s %.0f ms %s", scope["method"], path, logged, milliseconds, user)
