"""The whole web app in a separate thread, for browser tests, which must not run in its loop."""

import asyncio
import queue
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from hopgraph.tools.apps.server.server_options import ServingOptions
from support.servers.web_app import WebApp, open_app

_SECONDS = 180.0


@contextmanager
def app_in_thread(options: ServingOptions, mounted_in: Any = None) -> Generator[WebApp]:
    """Serve the app until the block ends; see `open_app`."""
    opened = queue.SimpleQueue[tuple[WebApp, asyncio.AbstractEventLoop, asyncio.Event]]()

    async def serve() -> None:
        async with open_app(options, mounted_in=mounted_in) as app:
            stop = asyncio.Event()
            opened.put((app, asyncio.get_running_loop(), stop))
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    app, loop, stop = opened.get(timeout=_SECONDS)
    try:
        yield app
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(_SECONDS)
        assert not thread.is_alive(), "the app did not stop"


def until_idle(app: WebApp) -> None:
    """Wait until no turn runs or waits."""
    began = time.monotonic()
    while app.service.admission.active:
        assert time.monotonic() - began < _SECONDS, "a turn still holds its slot"
        time.sleep(0.02)
