"""Identifying users: the operator's function from a request to a user, and built-in ones for a proxy's header and OIDC.

`user_of` is called first for each request without a key, and returns a user's name, or None if it is unknown. It may
raise a `LoginError`, whose message goes to the caller; of other errors only the type is logged, as the message could
contain data sent. `to_user_id` turns the name into an id.
"""

import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any, cast

from hopgraph.state import HopgraphError, SettingsError
from hopgraph.tools.apps.server.threads import USER
from hopgraph.tools.io.load_object import load_object, parse_place

if TYPE_CHECKING:  # a command says which extra is missing
    from starlette.requests import HTTPConnection
    from starlette.types import Scope

UserOf = Callable[["HTTPConnection"], str | Awaitable[str | None] | None]

_USER_OF, _HEADER = "HOPGRAPH_USER_OF", "HOPGRAPH_USER_HEADER"
_OIDC = {"issuer": "HOPGRAPH_OIDC_ISSUER", "audience": "HOPGRAPH_OIDC_AUDIENCE"}
_OIDC_MORE = {"keys": "HOPGRAPH_OIDC_KEYS", "claim": "HOPGRAPH_OIDC_CLAIM"}
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}")
_HASHED = "id-"
_PEER = "hopgraph_peer"


class LoginError(HopgraphError):
    """A log-in was refused (HTTP 401); the message goes to the caller, and contains no data sent."""


class LoginUnavailableError(HopgraphError):
    """A log-in cannot be checked at the moment (HTTP 503)."""


def to_user_id(name: str) -> str:
    """Return a user's id: the name, or its hash if it has characters not allowed in ids, e.g. `auth0|5f7c`."""
    if USER.fullmatch(name) and not name.startswith(_HASHED):
        return name
    return _HASHED + blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True)
class HeaderUsers:
    """A `user_of` that reads a header set by a proxy, e.g. X-Forwarded-User, and ignores it from other addresses.

    The proxy must overwrite the header if a client sends it. A SettingsError for an invalid header name or proxies that
    are not addresses or networks.
    """

    header: str
    proxies: tuple[str, ...]

    def __post_init__(self) -> None:
        if not _HEADER_NAME.fullmatch(self.header):
            raise SettingsError(f"user header {self.header!r:.80} is not a header name; use e.g. X-Forwarded-User")
        if not self.proxies:
            raise SettingsError(f"user header {self.header}: name the proxy that sets it in HOPGRAPH_PROXIES")
        check_networks(self.proxies, "user header: proxy")

    def __call__(self, connection: "HTTPConnection") -> str | None:
        """Return the header's value; a LoginError if it occurs twice, i.e. the proxy did not overwrite a client's."""
        given = connection.headers.getlist(self.header)
        if not given or not is_within(peer_of(connection.scope), self.proxies):
            return None
        if len(given) > 1:
            raise LoginError(f"the header {self.header} was sent more than once")
        return given[0].strip() or None


def note_peer(scope: "Scope") -> None:
    """Store the address that a request comes from, before it is replaced by the client address from a proxy."""
    client = scope.get("client")
    scope.setdefault("state", {})[_PEER] = client[0] if client else ""


def peer_of(scope: "Scope") -> str:
    """Return the address stored by `note_peer`, else the client's; empty if unknown."""
    client = scope.get("client")
    return scope.get("state", {}).get(_PEER, client[0] if client else "")


def is_within(address: str, networks: tuple[str, ...]) -> bool:
    """Return whether an address is in one of the networks."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return any((mapped or found) in ip_network(each) for each in networks)


def check_networks(networks: tuple[str, ...], subject: str) -> None:
    """Raise a SettingsError, which begins with `subject`, for anything that is not an address or a network."""
    for each in networks:
        try:
            ip_network(each)
        except ValueError:
            raise SettingsError(f"{subject}: {each!r:.80} is neither an address nor a network (10.0.0.0/8)") from None


def load_function(place: str, option: str) -> Callable[..., Any]:
    """Return the function at `MODULE:NAME` or `FILE.py:NAME`; a SettingsError or SpecError if there is none."""
    parsed = parse_place(place, option)
    if parsed is None:
        raise SettingsError(f"{option} {place!r:.80}: write MODULE:FUNCTION or FILE.py:FUNCTION")
    found, _ = load_object(parsed)
    if not callable(found):
        raise SettingsError(f"{option} {place!r:.80} is {type(found).__name__}, which cannot be called")
    return cast("Callable[..., Any]", found)


def user_of_from_environment(proxies: tuple[str, ...]) -> UserOf | None:
    """Return the `user_of` set by `HOPGRAPH_USER_OF`, `HOPGRAPH_USER_HEADER` or `HOPGRAPH_OIDC_ISSUER`; None if unset.

    A SettingsError if more than one is set, or a required variable is missing.
    """
    given = {name: os.environ.get(name, "").strip() for name in (_USER_OF, _HEADER, _OIDC["issuer"])}
    chosen = [name for name, value in given.items() if value]
    if len(chosen) > 1:
        raise SettingsError(f"{' and '.join(chosen)} are set; users can only be identified by one of them")
    if not chosen:
        return None
    if chosen == [_USER_OF]:
        return load_function(given[_USER_OF], "user_of")
    if chosen == [_HEADER]:
        return HeaderUsers(given[_HEADER], proxies)
    from hopgraph.tools.apps.server.oidc import OidcUsers

    values = {name: os.environ.get(variable, "").strip() for name, variable in {**_OIDC, **_OIDC_MORE}.items()}
    if not values["audience"]:
        raise SettingsError(f"{_OIDC['audience']}: set it to the client id, or the API, that tokens are issued for")
    return OidcUsers(**{name: value for name, value in values.items() if value})
