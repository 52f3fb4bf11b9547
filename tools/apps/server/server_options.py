"""What the web app is started with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from pydantic import JsonValue

from hopgraph.state import SettingsError
from hopgraph.state.chat import ChatContext
from hopgraph.state.context import settings_from, with_environment
from hopgraph.tools.apps.server.threads import USER

PAGE_PATH = "/chat"
UPLOAD_PATH = f"{PAGE_PATH}/gradio_api/upload"
OWNER = "local"
"""The user whose threads these are where no key is asked for."""

_KEYS = "HOPGRAPH_API_KEY"
_LEAST_KEY = 16
_HOSTS, _ORIGINS = "HOPGRAPH_HOSTS", "HOPGRAPH_ORIGINS"


@dataclass(frozen=True)
class ServingOptions:
    """Where the app listens, whom it lets in, and how much it does at once."""

    host: str = "127.0.0.1"
    port: int = 7860
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of the chat that hold unless a caller may and does set others; model and retriever among them."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """API key → user. Empty: nobody is asked for one, which only a loopback address allows."""
    origins: tuple[str, ...] = ()
    """Pages of other origins that a browser lets call the endpoints; none by default."""
    hosts: tuple[str, ...] = ()
    """Further host names under which the app may be addressed, as behind a proxy."""
    threads: str | Path | None = None
    """Where threads are kept, as `open_threads` takes it; `~` is the home folder. A file comes out as a path."""
    page: bool = True
    """Offer the chat page, too."""
    max_body_bytes: int = 2_000_000
    max_upload_bytes: int = 100_000_000
    """Of the documents uploaded at once."""
    requests_per_minute: int = 600
    """By one user or address."""
    max_running: int = 32
    """Turns under way at once."""
    max_waiting: int = 64
    """Turns that wait for one of these to end; more are refused."""
    turn_seconds: float = 600
    """After so long a turn is ended."""

    def __post_init__(self) -> None:
        """Write out the place of the threads, so that all who read it find the same.

        Raises:
            SettingsError: it begins with the home folder of a user whom this machine does not know.
        """
        object.__setattr__(self, "threads", _place(self.threads))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the app."""
        return is_loopback(self.host)

    @property
    def begins_with(self) -> str:
        """The method that the page's list begins with: the `use_method` that was set here or in the environment.

        `auto` without one.

        Raises:
            SettingsError: the settings, or those of the environment, are wrong.
        """
        return with_environment(settings_from(ChatContext, self.settings)).use_method

    def checked(self) -> "ServingOptions":
        """Refuse an app that anybody in the network could use.

        Raises:
            SettingsError: an address beyond loopback without a key.
        """
        if not self.is_local and not self.keys:
            raise SettingsError(
                f"--host {self.host}: others can reach this address, so callers must name a key; set {_KEYS} to one of"
                f" at least {_LEAST_KEY} characters, or serve at 127.0.0.1"
            )
        return self


def _place(threads: str | Path | None) -> str | Path | None:
    if not threads or "://" in str(threads):
        return threads or None
    try:
        return Path(threads).expanduser()
    except RuntimeError:
        raise SettingsError(f"threads {str(threads)!r:.80}: this user's home folder is not known") from None


def is_loopback(host: str) -> bool:
    """Tell whether an address is this machine's alone; a name other than localhost is not taken for one."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def keys_from_environment() -> dict[str, str]:
    """Read the keys of callers: `HOPGRAPH_API_KEY`, one key or several `USER=KEY` with commas between them.

    Returns:
        Key → user; a key alone belongs to the user `local`. Empty where the variable is not set.

    Raises:
        SettingsError: a key that is too short, cannot be sent in a header or is there twice, or a user's name that
        is not taken. No key is repeated in it.
    """
    keys: dict[str, str] = {}
    for number, entry in enumerate(filter(None, os.environ.get(_KEYS, "").split(",")), start=1):
        name, equals, key = entry.strip().partition("=")
        # A key may end in signs of padding, but a user's name has none before it.
        user, key = (name, key) if equals and key.strip("=") else (OWNER, entry)
        key = key.strip()
        if not USER.fullmatch(user):
            raise SettingsError(f"{_KEYS}: the user's name of entry {number} is not taken; letters, digits, . _ - + @")
        if len(key) < _LEAST_KEY:
            raise SettingsError(
                f"{_KEYS}: the key of entry {number} has under {_LEAST_KEY} characters; take a longer one"
            )
        if not key.isascii() or not key.isprintable():
            raise SettingsError(f"{_KEYS}: the key of entry {number} cannot be sent in a header; take ASCII characters")
        if key in keys:
            raise SettingsError(
                f"{_KEYS}: entry {number} has the key of an entry before it; give each a key of its own"
            )
        keys[key] = user
    return keys


def hosts_from_environment() -> tuple[str, ...]:
    """Read further names of the app: `HOPGRAPH_HOSTS`, with commas between them."""
    return _listed(_HOSTS)


def origins_from_environment() -> tuple[str, ...]:
    """Read the origins whose pages may call the app: `HOPGRAPH_ORIGINS`, with commas between them."""
    return _listed(_ORIGINS)


def _listed(variable: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, os.environ.get(variable, "").split(","))))
