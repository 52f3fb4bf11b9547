"""Serve any ASGI application on a free loopback port, in a separate thread."""

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, cast

import uvicorn
from starlette.types import ASGIApp

_START_SECONDS = 20.0
_STOP_SECONDS = 30.0
_WORKERS = 64


class _Connection(Protocol):
    """The attributes of uvicorn's connections used here; their classes depend on the packages installed."""

    client: tuple[str, int] | None
    transport: asyncio.Transport


class PromptServer(uvicorn.Server):
    """A uvicorn server that stops at once, without waiting for clients.

    uvicorn's own loop looks every 0.1 s whether to stop and then waits another 0.1 s: with a server for
    each test that is most of a suite's time.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stop = asyncio.Event()

    def connections(self) -> list[_Connection]:
        return cast("list[_Connection]", list(self.server_state.connections))

    def stop(self) -> None:
        """Leave `main_loop`; call it in the server's loop."""
        self._stop.set()

    async def main_loop(self) -> None:
        await self._stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        for listener in self.servers:
            for each in listener.sockets:
                loop.remove_reader(each.fileno())
        while self.server_state.connections or self.server_state.tasks or _accepting():
            for connection in self.connections():
                connection.transport.abort()
            await asyncio.sleep(0.002)
        # Not before: asyncio leaves open what a server has accepted but not yet taken up when it is closed.
        for listener in self.servers:
            listener.close()
            await listener.wait_closed()
        await self.lifespan.shutdown()


class _ThreadServer(PromptServer):
    """A server that another thread waits for and stops."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        # The default pool has as few as five threads: models without an async side would queue up in it.
        self._loop.set_default_executor(ThreadPoolExecutor(_WORKERS))
        await super().startup(sockets)
        self.listening.set()


def _accepting() -> bool:
    """Return whether an accepted connection is not yet known to uvicorn, which could close it."""
    return any("accept_connection" in getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks())


class LoopbackServer:
    """Serve `app` on 127.0.0.1 between `start` and `close`.

    The port, free or the one that is given, is taken when the object is made, so `url` is known before the application
    runs. `certificate` is a file with a private key and its certificates.
    `close` breaks off what is still being answered: the application sees `http.disconnect`.
    """

    def __init__(self, app: ASGIApp, port: int = 0, certificate: Path | None = None) -> None:
        self._socket = socket.create_server(("127.0.0.1", port), backlog=256)
        # asyncio sets this only on sockets that name TCP as their protocol, and these do not: without it
        # every answer waits 40 ms for the client's delayed acknowledgement.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            interface="asgi3",
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            ssl_certfile=certificate,
        )
        self._scheme = "https" if certificate else "http"
        self._server = _ThreadServer(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name=f"loopback-{self.port}", daemon=True
        )

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, without a slash at the end; `https` with a certificate."""
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Return once connections are accepted."""
        self._thread.start()
        if not self._server.listening.wait(_START_SECONDS):
            raise RuntimeError(f"the server on port {self.port} did not start in {_START_SECONDS} s")

    def close(self) -> None:
        """Stop and wait for the thread; may be called twice, or without `start`."""
        if self._thread.is_alive():
            self._server.stop()
            self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            raise RuntimeError(f"the server on port {self.port} did not stop in {_STOP_SECONDS} s")
        self._socket.close()

    def break_off(self, client: tuple[str, int]) -> None:
        """Close the connection of `client` after all pending output; call it in the app's loop."""
        for connection in self._server.connections():
            if connection.client == client:
                connection.transport.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
