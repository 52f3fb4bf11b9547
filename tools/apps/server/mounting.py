"""An app inside another one: Starlette's `mount` does not run the lifespan of what is mounted."""

import asyncio
import logging

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.refusal import Refusal
from hopgraph.tools.apps.server.turn import error_line

_log = logging.getLogger(__name__)


class OpenedOnDemand:
    """Runs an app's lifespan from its first request to the end of the event loop, unless something else runs it."""

    def __init__(self, app: ASGIApp, owner: Starlette) -> None:
        """Wrap `app`; the lifespan is that of `owner`, which sets `owner.state.service` while it runs."""
        self._app, self._owner = app, owner
        self._opening: asyncio.Future[None] | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on once the app is open; 503 with the reason while it cannot be opened, which each request tries."""
        if scope["type"] == "http" and not hasattr(self._owner.state, "service"):
            try:
                await self._open()
            except HopgraphError as error:
                await Refusal(503, error_line(error), "not_open")(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        if self._opening is None or self._opening.done() or self._opening.get_loop() is not loop:
            self._opening = loop.create_future()
            self._keeper = loop.create_task(self._keep_open(self._opening))
        await asyncio.shield(self._opening)

    async def _keep_open(self, opening: asyncio.Future[None]) -> None:
        try:
            async with self._owner.router.lifespan_context(self._owner):
                opening.set_result(None)
                await asyncio.Event().wait()  # until the loop ends and cancels what is left
        except Exception as error:  # noqa: BLE001 - it is raised in the request that opens the app
            if opening.done():
                _log.exception("the mounted app was closed with an error")
            else:
                opening.set_exception(error)
