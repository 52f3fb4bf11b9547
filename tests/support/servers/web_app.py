"""The whole web app on loopback in the test's event loop, and `hopgraph chat` in a separate process."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.web_app import create_app, server_config
from support.servers.loopback import PromptServer

START_SECONDS = 180


@dataclass(frozen=True)
class WebApp:
    """A running app."""

    url: str
    service: Any
    """The `Service`; None for a mounted app, which is opened by its first request."""

    @property
    def base_url(self) -> str:
        """The base URL for clients of OpenAI's API."""
        return f"{self.url}/v1"


def without_page(folder: Path, **fields: Any) -> ServingOptions:
    """Return options of an app without the page, with threads in a folder."""
    return ServingOptions(threads=folder / "threads.sqlite", page=False, **fields)


@asynccontextmanager
async def open_app(options: ServingOptions, *, mounted_in: Any = None, at: str = "/qa") -> AsyncGenerator[WebApp]:
    """Serve the app until the context ends, alone or mounted in an app that does not run its lifespan."""
    app = create_app(options)
    served = app
    if mounted_in is not None:
        mounted_in.mount(at, app)
        served = mounted_in
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # The lifespan runs in the server's task: a fixture may be ended by another than the one that began it.
    server = PromptServer(server_config(served, lifespan="on"))
    serving = asyncio.create_task(server.serve([listener]))
    while not server.started:
        assert not serving.done(), "the app did not start"
        await asyncio.sleep(0.01)
    try:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        yield WebApp(address + at, None) if mounted_in is not None else WebApp(address, app.state.service)
    finally:
        server.stop()
        await serving
        listener.close()


@dataclass(frozen=True)
class ChatProcess:
    """A running `hopgraph chat`."""

    url: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def said(self) -> str:
        """Its output so far."""
        return self.log.read_text(errors="replace")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, wait, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def chat_process(folder: Path, *options: str, environment: Mapping[str, str] | None = None) -> Generator[ChatProcess]:
    """Start `hopgraph chat` at a free port, and wait until it listens."""
    command = [sys.executable, "-c", "from hopgraph.tools.apps.cli import main; raise SystemExit(main())"]
    command += ["chat", "--no-browser", "--port", "0", "--threads", str(folder / "threads.sqlite"), *options]
    log = folder / "chat.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "COLUMNS": "100", **(environment or {})}
        )
    try:
        yield ChatProcess(_address(process, log), process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"Chat page at (http://\S+)/chat;", log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.05)
    pytest.fail(f"hopgraph chat did not start:\n{log.read_text(errors='replace')[-3000:]}")
