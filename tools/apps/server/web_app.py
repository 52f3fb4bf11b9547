"""The web app, with every endpoint behind the guards and one open service, and serving it.

* `/chat`: the page, to which `/` redirects;
* `/v1/models`, `/v1/chat/completions`: for clients of OpenAI's API;
* `/ag-ui`: for AG-UI front ends;
* `/mcp`: the methods as tools of an MCP server;
* `/health`, `/health/ready`, `/metrics`: for monitoring.
"""

import asyncio
import logging
import signal
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from importlib.metadata import version
from typing import Any, Literal, cast

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server import ag_ui, openai_api
from hopgraph.tools.apps.server.connections import ClientAddresses, connection_options
from hopgraph.tools.apps.server.guards import SecurityMiddleware
from hopgraph.tools.apps.server.mcp_server import McpOverHttp
from hopgraph.tools.apps.server.page import mount_page, page_open
from hopgraph.tools.apps.server.page.login import Logins
from hopgraph.tools.apps.server.refusal import MCP_PATH, Refusal, path_in_app
from hopgraph.tools.apps.server.server_options import PAGE_PATH, ServingOptions
from hopgraph.tools.apps.server.service import Service, open_service
from hopgraph.tools.apps.server.turn import error_line, unexpected_line

_HEALTH_PATH, _METRICS_PATH = "/health", "/metrics"
_GUARDED_PATHS = (PAGE_PATH, openai_api.OPENAI_PATH, ag_ui.AG_UI_PATH, _HEALTH_PATH, _METRICS_PATH)
_GRACE_SECONDS = 8.0
"""Seconds that running turns have to finish when the app is stopped; Docker kills it after 10."""
_log = logging.getLogger(__name__)


def create_app(options: ServingOptions, *, alone: bool = True) -> FastAPI:
    """Create the web app, whose lifespan opens and closes the service, `app.state.service`.

    It can be mounted in another app; if that does not run its lifespan, the first request opens the service. Set
    `alone` to False inside a LangGraph server, which has its own MCP endpoint and start page.
    """
    mcp, logins = McpOverHttp(), Logins()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with open_service(options) as service, mcp.running(service):
            app.state.service = service
            try:
                async with page_open(app) if options.page else nullcontext():
                    yield
            finally:
                del app.state.service

    # Without Swagger UI and ReDoc, which load scripts from other hosts.
    described = f"{openai_api.OPENAI_PATH}/openapi.json"
    app = FastAPI(
        title="hopgraph",
        version=version("hopgraph"),
        lifespan=lifespan,
        openapi_url=described,
        docs_url=None,
        redoc_url=None,
    )
    app.add_exception_handler(HTTPException, _refuse)
    app.add_exception_handler(Exception, _refuse)
    app.include_router(openai_api.openai_router)
    app.include_router(ag_ui.ag_ui_router, include_in_schema=False)
    hidden: dict[str, Any] = {"include_in_schema": False}
    app.add_api_route(_HEALTH_PATH, _health, **hidden)
    app.add_api_route(f"{_HEALTH_PATH}/ready", _health, **hidden)
    app.add_api_route(_METRICS_PATH, _metrics, **hidden)
    if alone:
        app.router.routes.append(Route(MCP_PATH, endpoint=mcp))  # also without a trailing slash
        app.add_api_route("/", _page if options.page else _health, **hidden)
        app.add_api_route("/favicon.ico", lambda: Response(status_code=204), **hidden)
    if options.page:
        app.add_api_route(PAGE_PATH, _page, **hidden)
        app = mount_page(app, options, logins)
    app.add_middleware(_OpenedOnDemand, owner=app)
    paths = () if alone else _GUARDED_PATHS
    app.add_middleware(SecurityMiddleware, options=options, paths=paths, logged_in=logins.user_of)
    app.add_middleware(ClientAddresses, proxies=options.proxies)  # the last one added runs first
    return app


async def _health(request: Request) -> Response:
    """Report whether models and index are usable; if not, the status at `/ready`, for load balancers, is 503."""
    service: Service = request.app.state.service
    parts = await service.health.statuses()
    ok = set(parts.values()) == {"ok"}
    condition = {"status": "ok" if ok else "degraded", "turns": service.admission.active, **parts}
    return JSONResponse(condition, 200 if ok or not request.url.path.endswith("/ready") else 503)


async def _metrics(request: Request) -> Response:
    service: Service = request.app.state.service
    return Response(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_LATEST)


async def _refuse(request: Request, error: Exception) -> Response:
    """Respond to an unknown path or method, or an unexpected error, which the server logs."""
    if isinstance(error, HTTPException):
        refusal = Refusal(error.status_code, error.detail, headers=error.headers or {})
    else:
        refusal = Refusal(500, unexpected_line(error))
    return refusal.response(path_in_app(request.scope))


async def _page(request: Request) -> Response:
    """Redirect to the page's path with a trailing slash, for its relative links; the app may be mounted."""
    query = request.url.query
    return RedirectResponse(f"{PAGE_PATH.strip('/')}/{'?' if query else ''}{query}")


class _OpenedOnDemand:
    """Runs a mounted app's lifespan, which Starlette does not, from its first request to the end of the loop."""

    def __init__(self, app: ASGIApp, owner: Starlette) -> None:
        # The lifespan of `owner` sets `owner.state.service` while it runs.
        self._app, self._owner = app, owner
        self._opening: asyncio.Future[None] | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward once the app is open; if opening fails, return 503 with the reason, and retry on each request."""
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
                await asyncio.Event().wait()  # until the loop ends and cancels this task
        except Exception as error:  # noqa: BLE001 - raised in the request that opens the app
            if opening.done():
                _log.exception("the mounted app was closed with an error")
            else:
                opening.set_exception(error)


async def serve(options: ServingOptions, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve on a socket until SIGINT or SIGTERM, then close it; a second SIGINT exits immediately.

    `ready` is called once requests are accepted. A HopgraphError if the app cannot be opened.
    """
    app = create_app(options)
    # Opened here rather than by uvicorn, which would report a failure as a traceback.
    async with app.router.lifespan_context(app):
        server = _Server(server_config(app))
        ready()  # from now on requests wait in the listener's queue
        await server.serve(sockets=[listener])


def server_config(app: FastAPI, lifespan: Literal["on", "off"] = "off") -> uvicorn.Config:
    """Configure uvicorn for the app."""
    return uvicorn.Config(
        app,
        http="h11",  # it limits the size of headers
        lifespan=lifespan,
        log_config=None,
        access_log=False,  # the guards log requests
        server_header=False,
        timeout_graceful_shutdown=1,
        **connection_options(),
    )


class _Server(uvicorn.Server):
    """A uvicorn server that waits for running turns, but not for idle streams, and returns after a signal."""

    @contextmanager
    @override
    def capture_signals(self) -> Generator[None]:
        """Handle the signals without raising them again, since the service has yet to be closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        service: Service = cast("FastAPI", self.config.app).state.service
        until = time.monotonic() + _GRACE_SECONDS
        while service.admission.active and time.monotonic() < until and not self.force_exit:  # noqa: ASYNC110 - a signal changes the last
            await asyncio.sleep(0.05)
        # Streams still open are idle, such as a page's heartbeat, or out of time; do not log them as errors.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)
