"""How an HTTP client reaches one server: through which proxy, trusting which certificates, and no other server.

The clients are made with `trust_env=False` and what is found here, since httpx reads every proxy variable as soon as a
client is made: `ALL_PROXY=socks://…`, which GNOME sets, would be an error even where NO_PROXY excludes the server.
"""

import os
import re
import ssl
from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from functools import cache
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi

from hopgraph.state import ModelError, SettingsError, SpecError
from hopgraph.tools.io.redact import redact
from hopgraph.tools.io.reply_bounds import ask_for_plain, bound_reply

_SCHEMES = ("http", "https", "socks5", "socks5h")
_BLANKS = " \t\r\n\ufeff\u200b\xa0"
_AROUND = _BLANKS + "\"'"
_PLAIN = re.compile(r"[!-~]+")
_ENDPOINT = re.compile(r"(?<!/)/+(?:chat/completions|completions|responses|embeddings|models)\Z")
_PORTS = {"http": 80, "https": 443}


def client_options(address: str, *variables: str) -> dict[str, Any]:
    """Return the arguments of an httpx client for a server: `trust_env`, `proxy` and `verify`.

    `variables` name environment variables that hold a proxy and come before the usual ones. SettingsError for a proxy
    or certificates that cannot be used. It reads files, so it belongs in a thread.
    """
    proxy = find_proxy(address, *variables)
    encrypted = any(each.startswith("https:") for each in (address.lower(), proxy or ""))
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return {"trust_env": False, "proxy": proxy, "verify": _read_certificates(file, folder) if encrypted else no_trust()}


def read_address(given: str, name: str = "base_url") -> str:
    """Return a server's address without surrounding spaces, quotes and line breaks, and without an endpoint's path.

    A query stays, as of Azure's api-version. SpecError, which calls it by `name`, where it is not an address of HTTP.
    """
    address = given.strip(_AROUND)
    try:
        parts = urlsplit(address)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0 and " " not in parts.netloc
    except ValueError:
        usable = False
    if not usable or not address.isprintable():
        raise SpecError(f"{name} {redact(address)!r} is not an address such as http://127.0.0.1:8000/v1")
    path = _ENDPOINT.sub("", parts.path.rstrip("/"))  # pyright: ignore[reportPossiblyUnboundVariable] - see `usable`
    return parts._replace(path=path, fragment="").geturl()  # pyright: ignore[reportPossiblyUnboundVariable]


def read_key(variable: str) -> str:
    """Return the key that an environment variable holds, stripped; empty if there is none.

    SpecError where it cannot be a key, or is more than one.
    """
    key = os.environ.get(variable, "").strip(_BLANKS)
    if key and (not _PLAIN.fullmatch(key) or key[0] in "\"'" or key.startswith(f"{variable}=")):
        raise SpecError(f"{variable} is not a complete key: set it without quotes, spaces and 'Bearer'")
    return key


@cache
def no_trust() -> ssl.SSLContext:
    """Return a context that trusts no certificate, for clients that need none: loading certificates takes long."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _read_certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return httpx's default certificates, cached, as every client would load them again."""
    try:
        return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder or None)
    except OSError as error:
        reason = error.strerror if isinstance(error, FileNotFoundError | PermissionError) else "no certificates in it"
        raise SettingsError(f"SSL_CERT_FILE={file} cannot be read: {reason}; correct it, or unset it") from None


def find_proxy(address: str, *variables: str) -> str | None:
    """Return the proxy from the environment for an address; None if there is none or NO_PROXY excludes it.

    SettingsError, which names the variable, for one that cannot be used.
    """
    variable, proxy = _named_proxy(address, *variables)
    if proxy and (problem := _problem_of(proxy)):
        raise SettingsError(f"{variable}={redact(proxy)}: {problem}; {_without_proxy(address)}")
    return proxy or None


def describe_proxy(address: str, *variables: str) -> str:
    """Describe the proxy for an address, and how to do without it; empty if there is none."""
    variable, proxy = _named_proxy(address, *variables)
    return f"by the proxy of {variable}={redact(proxy)}; is that right? {_without_proxy(address)}" if proxy else ""


def _without_proxy(address: str) -> str:
    return f"or name the hosts to reach without it in NO_PROXY, as NO_PROXY={urlsplit(address).hostname}"


def _named_proxy(address: str, *variables: str) -> tuple[str, str]:
    """Return the variable and the proxy for an address; empty strings if there is none, or NO_PROXY excludes it."""
    proxies = getproxies()
    named = {name: os.environ.get(name) for name in variables}
    named |= _proxy_variables(urlsplit(address).scheme, proxies)
    variable, proxy = next(((name, value.strip()) for name, value in named.items() if value), ("", ""))
    if not proxy or (variable not in variables and _is_excluded(address, proxies.get("no", ""))):
        return "", ""
    return variable, proxy if "://" in proxy else f"http://{proxy}"


def _proxy_variables(scheme: str, proxies: dict[str, str]) -> dict[str, str | None]:
    """Return the proxies for a scheme by the environment variables that name them, in order of precedence."""
    found: dict[str, str | None] = {}
    for key in (scheme, "all"):
        spellings = (f"{key}_proxy", f"{key}_PROXY".upper())
        found[next((name for name in spellings if os.environ.get(name)), f"the system's {key} proxy")] = proxies.get(
            key
        )
    return found


def _problem_of(proxy: str) -> str:
    """Return why a proxy cannot be used and what to do; empty if it can."""
    try:
        parts = urlsplit(proxy)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return "this is not a valid address; use http://HOST:PORT"
    if parts.scheme not in _SCHEMES:
        rest = redact(proxy).partition("://")[2].rstrip("/")
        return f"the scheme {parts.scheme!r} is not known; write http://{rest}, or socks5://{rest} for a SOCKS proxy"
    if not usable:
        return "this is not a valid address; use http://HOST:PORT"
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        return "a SOCKS proxy needs the package socksio: pip install socksio"
    return ""


def _is_excluded(address: str, no_proxy: str) -> bool:
    """Return whether NO_PROXY or the system excludes a host from proxies: by name, domain or network."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if proxy_bypass(host) or proxy_bypass(f"{host}:{parts.port or _PORTS.get(parts.scheme)}"):
        return True
    return any(_covers(entry.strip("[]").lower(), host) for entry in re.split(r"[\s,;]+", no_proxy))


def _covers(entry: str, host: str) -> bool:
    """Return whether an entry of NO_PROXY unknown to urllib covers a host: a network, or one with asterisks."""
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        return fnmatchcase(host, entry)


def keep_to_server(client: Any, *on_reply: Callable[[Any], Awaitable[None]]) -> None:
    """Let an async httpx client send only to the server of its `base_url`, wherever that redirects to.

    It raises a ModelError before anything is sent elsewhere: neither keys nor prompts are meant for another server.
    Its replies are bounded in size.
    """
    home = client.base_url

    async def refuse_others(request: Any) -> None:
        to = request.url
        if (to.scheme, to.host, to.port) != (home.scheme, home.host, home.port):
            there = redact(f"{to.scheme}://{to.netloc.decode()}")
            raise ModelError(
                f"{redact(str(home))} redirects to {there}, which is not followed; if that is the right server, use "
                "its address",
                "refusal",
            )

    client.event_hooks = {"request": [refuse_others, ask_for_plain], "response": [bound_reply, *on_reply]}
