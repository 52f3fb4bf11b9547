"""The socket that a server listens on, and how long and how often a client may hold a connection to it."""

import asyncio
import errno
import socket
from collections.abc import Sequence
from typing import Any

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from hopgraph.state import SettingsError

_BACKLOG = 512
_HEADER_SECONDS = 10.0  # from the connection to a request's headers
_IDLE_SECONDS = 30.0
"""So long after a reply it is to be taken, and what is left of its request, or the next one's headers, sent."""
_STALLED_SECONDS = 60.0  # in which a client takes next to nothing of a reply
_MAX_CONNECTIONS = 800  # fewer than the files that a process may usually open
_MAX_PER_ADDRESS = 256  # where no proxy is named


class Connection(H11Protocol):
    """A connection that ends when its client does not get on; h11 bounds the size of headers, too."""

    _stalled: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.loop.call_later(_HEADER_SECONDS, self._end_if_idle, self.cycle)
        clients = [each.client for each in self.connections if isinstance(each, Connection) and each.client]
        same = sum(self.client is not None and host == self.client[0] for host, _ in clients)
        if same > _MAX_PER_ADDRESS and not self.config.proxy_headers:
            transport.abort()

    @override
    def on_response_complete(self) -> None:
        cycle = self.cycle
        super().on_response_complete()
        self.loop.call_later(_IDLE_SECONDS, self._end_if_idle, cycle)

    def _end_if_idle(self, last: RequestResponseCycle | None) -> None:
        if self.cycle is last and (last is None or last.response_complete):
            self.transport.abort()

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(_STALLED_SECONDS, self.transport.abort)

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled:
            self._stalled.cancel()


def connection_options(proxies: Sequence[str]) -> dict[str, Any]:
    """Return the options of uvicorn, but its `http`; clients' own addresses are read off what these proxies add."""
    trusted = {"proxy_headers": bool(proxies), "forwarded_allow_ips": list(proxies)}
    return {**trusted, "limit_concurrency": _MAX_CONNECTIONS, "timeout_keep_alive": 5}


def open_listener(host: str, port: int) -> socket.socket:
    """Listen at a name or address; a SettingsError where it is not this machine's or the port is taken or forbidden."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SettingsError(f"port {port} is taken; choose another with --port") from None
        why = str(error.strerror or error).partition(" (while")[0]  # `create_server` adds the address
        raise SettingsError(f"cannot serve at {host}:{port}: {why}") from None


def address_of(host: str, port: int) -> str:
    """Return the URL as a browser on this machine opens it."""
    # A page cannot reach 0.0.0.0, which means every address of this machine.
    host = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host.strip("[]")  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
