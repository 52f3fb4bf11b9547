"""Serving the web app until it is signalled to stop; running turns then get a few seconds."""

import asyncio
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal, cast

import uvicorn
from fastapi import FastAPI
from typing_extensions import override

from hopgraph.tools.apps.server.connections import Connection, connection_options
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import Service
from hopgraph.tools.apps.server.web_app import create_app

_GRACE_SECONDS = 8.0
"""For turns that run when the app is stopped; then they are cancelled. Docker kills after 10."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def serve(options: ServingOptions, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve on a socket until SIGINT or SIGTERM; a second SIGINT does not wait for anything.

    The socket is closed at the end; `ready` is called once requests are taken. A HopgraphError where the app cannot
    be opened.
    """
    app = create_app(options)
    # Opened here and not by uvicorn, which would report a failure as a traceback.
    async with app.router.lifespan_context(app):
        server = _Server(server_config(app, options))
        ready()  # what is asked from now on waits in the listener's queue
        await server.serve(sockets=[listener])


def server_config(app: FastAPI, options: ServingOptions, lifespan: Literal["on", "off"] = "off") -> uvicorn.Config:
    """Configure uvicorn for the app."""
    return uvicorn.Config(
        app,
        http=Connection,
        lifespan=lifespan,
        log_config=None,
        access_log=False,  # the guards write it
        server_header=False,
        timeout_graceful_shutdown=1,
        **connection_options(options.proxies),
    )


class _Server(uvicorn.Server):
    """A uvicorn server that lets turns end, but not idle streams, and returns after the signal that stops it."""

    @contextmanager
    @override
    def capture_signals(self) -> Generator[None]:
        """Handle the signals, and do not raise them again afterwards: the service is still to be closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in _SIGNALS}
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
        # What is still open now is idle, as a page's heartbeat, or has had its time; that is no error to be logged.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)
