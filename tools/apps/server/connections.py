"""The server's listening socket, uvicorn's limits, and the client address of a request."""

import errno
import socket
from collections.abc import Sequence
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.identity import note_peer

_BACKLOG = 512
_MAX_CONNECTIONS = 800  # below the usual limit of open files


class ClientAddresses:
    """Sets a request's client address to the one a proxy reports, and keeps the proxy's own (`peer_of`)."""

    def __init__(self, app: ASGIApp, proxies: Sequence[str]) -> None:
        self._app = ProxyHeadersMiddleware(app, trusted_hosts=list(proxies)) if proxies else app  # pyright: ignore[reportArgumentType] - uvicorn's types of the same calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request."""
        if scope["type"] != "lifespan":
            note_peer(scope)
        await self._app(scope, receive, send)  # pyright: ignore[reportArgumentType]


def connection_options(proxies: Sequence[str] = ()) -> dict[str, Any]:
    """Return uvicorn's options; `proxies` are trusted to report client addresses, unless the app reads them itself."""
    trusted = {"proxy_headers": bool(proxies), "forwarded_allow_ips": list(proxies)}
    return {**trusted, "limit_concurrency": _MAX_CONNECTIONS, "timeout_keep_alive": 5}


def open_listener(host: str, port: int) -> socket.socket:
    """Listen at a host name or address; a SettingsError if it is not local, or the port is taken or forbidden."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SettingsError(f"port {port} is in use; choose another with --port") from None
        why = str(error.strerror or error).partition(" (while")[0]  # `create_server` adds the address
        raise SettingsError(f"cannot serve at {host}:{port}: {why}") from None


def address_of(host: str, port: int) -> str:
    """Return the URL for a browser on this machine."""
    # Browsers cannot open 0.0.0.0, which stands for every address of this machine.
    host = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host.strip("[]")  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
