"""The socket that a server listens on."""

import errno
import socket

from hopgraph.state import SettingsError

_BACKLOG = 512


def open_listener(host: str, port: int) -> socket.socket:
    """Bind a host, an address or a name of this machine, and listen; the caller closes the socket.

    Raises:
        SettingsError: the port is taken or not allowed, or the host is not this machine's.
    """
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
