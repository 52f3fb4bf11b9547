"""The socket that a server listens on."""

import errno
import socket

from hopgraph.state import SettingsError

_BACKLOG = 512


def open_listener(host: str, port: int) -> socket.socket:
    """Bind an address and listen; the caller closes the socket.

    Args:
        host: an address or a name of this machine.
        port: 0 for any free one.

    Raises:
        SettingsError: the port is taken or not allowed, or the host is not this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SettingsError(f"port {port} is taken; choose another with --port") from None
        raise SettingsError(f"cannot serve at {host}:{port}: {error.strerror or error}") from None
    return listener


def address_of(host: str, port: int) -> str:
    """Return the URL as a browser on this machine opens it."""
    # A page cannot reach 0.0.0.0, which means every address of this machine.
    host = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host.strip("[]")  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
