"""The web app with its guards, but without its page, on loopback and in the loop of the test."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import uvicorn

from hopgraph.tools.serving.app import create_app
from hopgraph.tools.serving.options import ServingOptions
from hopgraph.tools.serving.service import Service

USERS = {"key-of-ann": "ann", "key-of-bob": "bob"}
"""Keys of two users, for tests that need any."""

QUESTION = "In which city was the director of the film Pan's Labyrinth born?"


@dataclass(frozen=True)
class Doors:
    """The app while it is served."""

    url: str
    service: Service


@asynccontextmanager
async def open_doors(options: ServingOptions) -> AsyncGenerator[Doors]:
    """Serve the app without its page until the context ends."""
    app = create_app(replace(options, page=False))
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5))
    serving = asyncio.create_task(server.serve([listener]))
    while not server.started:
        assert not serving.done(), "the app did not start"
        await asyncio.sleep(0.01)
    try:
        yield Doors(f"http://127.0.0.1:{listener.getsockname()[1]}", app.state.service)
    finally:
        server.should_exit = True
        await serving
        listener.close()


async def until_idle(service: Service, seconds: float = 30) -> None:
    """Wait until no turn runs or waits."""
    async with asyncio.timeout(seconds):
        while service.admission.inside:  # noqa: ASYNC110 - it tells nobody when that changes
            await asyncio.sleep(0.01)


@cache
def asked(question: str = QUESTION, method: str = "migres") -> dict[str, Any]:
    """Give what `hopgraph ask --json` prints for a question."""
    command = [sys.executable, "-c", "from hopgraph.tools.cli import main; raise SystemExit(main())"]
    printed = subprocess.run(
        [*command, "ask", question, "--method", method, "--json"], capture_output=True, text=True, check=True
    ).stdout
    return json.loads(printed)
