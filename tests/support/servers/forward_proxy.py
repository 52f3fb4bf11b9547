"""A forward proxy on loopback (CONNECT and plain HTTP) that records every byte its clients send."""

import asyncio
import base64
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


class ForwardProxy(AbstractAsyncContextManager["ForwardProxy"]):
    """Serves on the loop that enters it. With a `login` ("name:password") all requests must carry it."""

    def __init__(self, login: str = "") -> None:
        self.heads = list[str]()
        """Of each connection the first line and the headers, in lower case."""
        self.received = bytearray()
        """All that clients sent, within tunnels, too."""
        self._login = login
        self._connections = set[asyncio.Task[None]]()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = f"{f'{self._login}@' if self._login else ''}127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for each in self._connections:
            each.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.received += head
        self.heads.append(head.decode().lower())
        wanted = f"Proxy-Authorization: Basic {base64.b64encode(self._login.encode()).decode()}\r\n"
        if self._login and wanted.lower().encode() not in head.lower():
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        method, target, rest = head.split(b" ", 2)
        parts = urlsplit(f"//{target.decode()}" if method == b"CONNECT" else target.decode())
        up_reader, up_writer = await asyncio.open_connection(parts.hostname, parts.port)
        if method == b"CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:  # one request on each connection
            lines = [line for line in rest.split(b"\r\n") if not line.lower().startswith((b"proxy-", b"connection:"))]
            path = f"{parts.path}{f'?{parts.query}' if parts.query else ''}".encode()
            lines.insert(1, b"Connection: close")
            up_writer.write(method + b" " + path + b" " + b"\r\n".join(lines))
        try:
            await asyncio.gather(self._pass_on(reader, up_writer, note=True), self._pass_on(up_reader, writer))
        finally:
            up_writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, note: bool = False) -> None:
        while data := await reader.read(65_536):
            if note:
                self.received += data
            writer.write(data)
            await writer.drain()
        writer.close()
