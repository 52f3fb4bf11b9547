"""The options of the web app, and users by API key."""

import hashlib
import inspect
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from hopgraph.state import SettingsError
from hopgraph.state.chat import ChatContext
from hopgraph.state.context import DEFAULT_RETRIEVER, make_settings
from hopgraph.state.environment import with_environment
from hopgraph.tools.apps.server.caller_settings import read_limit
from hopgraph.tools.apps.server.document_sets import (
    DocumentSets,
    DocumentsOf,
    Retriever,
    check_no_other_retriever,
    load_documents_of,
    read_sets,
)
from hopgraph.tools.apps.server.identity import (
    UserOf,
    check_networks,
    load_function,
    to_user_id,
    user_of_from_environment,
)
from hopgraph.tools.apps.server.threads import USER

if TYPE_CHECKING:  # a command says which extra is missing
    from starlette.requests import HTTPConnection

PAGE_PATH = "/chat"
LOGIN_PATH, LOGOUT_PATH = f"{PAGE_PATH}/login", f"{PAGE_PATH}/logout"
UPLOAD_PATH = f"{PAGE_PATH}/gradio_api/upload"
OWNER = "local"  # the user if no key is required

_KEYS, _PROXIES = "HOPGRAPH_API_KEY", "HOPGRAPH_PROXIES"
_AUDIT_LOG, _KEEP_DAYS = "HOPGRAPH_AUDIT_LOG", "HOPGRAPH_KEEP_DAYS"
_DOCUMENTS, _DOCUMENTS_OF = "HOPGRAPH_DOCUMENTS", "HOPGRAPH_DOCUMENTS_OF"
_MIN_KEY_LENGTH = 16
_SAMPLE_QUESTIONS = (
    "In which city was the director of the film Pan's Labyrinth born?",
    "Where was the painter of Guernica born?",
    "Who wrote Frankenstein?",
)


@dataclass(frozen=True)
class ServingOptions:
    """Where the app listens, who may use it, and its capacity."""

    host: str = "127.0.0.1"
    port: int = 7860
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of the chat, including model and retriever; a caller may override some for a turn."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """API key → user. Without keys and `user_of`, only local connections are allowed, as the user `local`."""
    user_of: UserOf | str | None = None
    """Identifies the user of a request without a key (see `identity`): a function, or its path `MODULE:FUNCTION`."""
    login_url: str = ""
    """Where people who open the page without being logged in are sent, e.g. `/login` of the app that has `user_of`."""
    logout_url: str = ""
    """The target of the log-out link for people identified by `user_of`; without it they have no such link."""
    documents: Mapping[str, Retriever] = field(default_factory=dict[str, Retriever])
    """Document sets that replace the chat's `retriever`: name → retriever, in the same form."""
    documents_of: DocumentsOf | str | None = None
    """A user's id → the names of the sets that they may query: a function, its path, or a JSON file."""
    origins: tuple[str, ...] = ()
    """Other origins whose pages may call the endpoints (CORS)."""
    hosts: tuple[str, ...] = ()
    """Additional host names of the app, e.g. behind a proxy."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks whose `X-Forwarded-For` is trusted."""
    threads: str | Path | None = None
    """Where threads are stored, as for `open_threads`; a file becomes a path, with `~` expanded."""
    audit_log: Path | None = None
    """A file that each question is written to, with its user. Default: no audit log."""
    keep_days: float | None = None
    """Conversations, and documents that users have added, are deleted this many days after their last change."""
    page: bool = True
    title: str = "hopgraph"
    logo: Path | None = None
    """An image before the page's title: SVG, PNG, JPEG or WebP."""
    simple: bool = False
    """Show only question, answer and sources, without methods and settings."""
    color: str = ""
    """The page's color, e.g. `#0f766e`; darkened or lightened if text in it would be hard to read."""
    welcome: str = ""
    """Markdown greeting that replaces the page's own."""
    footer: str = ""
    """Markdown below the question box, such as a link to a privacy notice."""
    examples: tuple[str, ...] = ()
    """Example questions on the page. Default: some on the sample corpus, if it is searched."""
    max_body_bytes: int = 2_000_000
    max_upload_bytes: int = 100_000_000  # of the documents uploaded at once
    requests_per_minute: int = 600  # per user or address
    streams_per_address: int = 64
    """Maximum concurrent requests per address."""
    max_running: int = 32
    max_waiting: int = 64
    turn_seconds: float = 600  # until a turn is cancelled

    def __post_init__(self) -> None:
        """Load the functions given by path, and expand `~` in `threads`.

        A SettingsError for an unknown home folder, a malformed color, incomplete document sets, or an address that
        others can reach without keys or `user_of`.
        """
        if isinstance(self.user_of, str):
            object.__setattr__(self, "user_of", load_function(self.user_of, "user_of"))
        if isinstance(self.documents_of, str):
            object.__setattr__(self, "documents_of", load_documents_of(self.documents_of))
        if self.keep_days is not None and not self.keep_days > 0:
            raise SettingsError(f"keep_days: must be above 0, got {self.keep_days:g}")
        if self.document_sets.sets:
            check_no_other_retriever(self.settings)
        if not is_loopback(self.host) and not self.has_users:
            raise SettingsError(
                f"--host {self.host}: others can reach this address, so callers must send a key; set {_KEYS} to one of"
                f" at least {_MIN_KEY_LENGTH} characters, or serve at 127.0.0.1"
            )
        if self.color and not re.fullmatch(r"#[0-9a-fA-F]{6}", self.color):
            raise SettingsError(f"color {self.color!r:.80}: write it as #RRGGBB, for example #0f766e")
        if self.threads and "://" not in str(self.threads):
            try:
                object.__setattr__(self, "threads", Path(self.threads).expanduser())
            except RuntimeError:
                place = f"{str(self.threads)!r:.80}"
                raise SettingsError(f"threads {place}: this user's home folder is not known") from None

    @property
    def has_users(self) -> bool:
        """Return whether users are distinguished, each with their own threads, limits and documents."""
        return bool(self.keys or self.user_of)

    async def user_of_request(self, connection: "HTTPConnection") -> str | None:
        """Return the user of a request's key, else the one from `user_of`; None if unknown.

        Raises the errors of `user_of`, e.g. a LoginError.
        """
        if not self.has_users:
            return OWNER
        sent = connection.headers
        user = user_from_headers(sent.get("authorization", ""), sent.get("x-api-key", ""), self.keys)
        if user or not callable(self.user_of):
            return user
        found = self.user_of(connection)
        name = await found if inspect.isawaitable(found) else found
        return to_user_id(name) if name else None

    @property
    def chat_settings(self) -> ChatContext:
        """The chat's settings, including those of the environment; a SettingsError if any is invalid."""
        return with_environment(make_settings(ChatContext, self.settings))

    @property
    def document_sets(self) -> DocumentSets:
        """The document sets, and who may query which; a SettingsError if they are incomplete."""
        return DocumentSets(self.documents, None if isinstance(self.documents_of, str) else self.documents_of)

    @property
    def retrievers(self) -> list[Retriever | None]:
        """The retrievers to search: the document sets, else the chat's retriever."""
        return list(self.documents.values()) or [self.chat_settings.retriever]

    @property
    def example_questions(self) -> tuple[str, ...]:
        """The questions that the page offers."""
        asks_sample = not self.documents and (self.chat_settings.retriever or DEFAULT_RETRIEVER) == DEFAULT_RETRIEVER
        return self.examples or (_SAMPLE_QUESTIONS if asks_sample else ())


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address or `localhost`."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def keys_from_environment() -> dict[str, str]:
    """Return key → user from `HOPGRAPH_API_KEY`: one key, of the user `local`, or comma-separated `USER=KEY`.

    A SettingsError, without the key, if one is too short, not ASCII, or repeated, or a user name is malformed.
    """
    keys: dict[str, str] = {}
    for number, entry in enumerate(filter(None, os.environ.get(_KEYS, "").split(",")), start=1):
        name, equals, key = entry.strip().partition("=")
        # A key may end in `=` as padding, which does not follow a user name.
        user, key = (name, key) if equals and key.strip("=") else (OWNER, entry)
        key = key.strip()
        if not USER.fullmatch(user):
            raise SettingsError(f"{_KEYS}: the user name of entry {number} is malformed; letters, digits, . _ - + @")
        if len(key) < _MIN_KEY_LENGTH:
            short = f"the key of entry {number} has fewer than {_MIN_KEY_LENGTH} characters; use a longer one"
            raise SettingsError(f"{_KEYS}: {short}")
        if not key.isascii() or not key.isprintable():
            raise SettingsError(f"{_KEYS}: the key of entry {number} cannot be sent in a header; use ASCII characters")
        if key in keys:
            raise SettingsError(f"{_KEYS}: entry {number} repeats an earlier key; give each user a different one")
        keys[key] = user
    return keys


def user_from_headers(authorization: str, api_key: str, keys: Mapping[str, str]) -> str | None:
    """Return the user of `Authorization: Bearer KEY` or `X-Api-Key: KEY`; None if the key is missing or unknown."""
    scheme, _, key = authorization.partition(" ")
    return (user_of_key(key.strip(), keys) if scheme.lower() == "bearer" else None) or user_of_key(api_key, keys)


def user_of_key(given: str, keys: Mapping[str, str]) -> str | None:
    """Return the user of a key; None if it is unknown."""
    # Comparing digests keeps timing from revealing anything about a key.
    return {_digest(key): user for key, user in keys.items()}.get(_digest(given))


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def serving_options(
    *,
    origins: Iterable[str] = (),
    hosts: Iterable[str] = (),
    audit_log: Path | None = None,
    keep_days: float | None = None,
    **given: Any,
) -> ServingOptions:
    """Return options, with missing ones from the environment; origins and hosts are added to those there."""
    proxies = proxies_from_environment()
    return ServingOptions(
        keys=keys_from_environment(),
        user_of=user_of_from_environment(proxies),
        audit_log=audit_log or (Path(named) if (named := os.environ.get(_AUDIT_LOG)) else None),
        keep_days=_read_days() if keep_days is None else keep_days,
        documents=read_sets(os.environ.get(_DOCUMENTS) or "{}", _DOCUMENTS),
        documents_of=os.environ.get(_DOCUMENTS_OF) or None,
        origins=(*origins, *origins_from_environment()),
        hosts=(*hosts, *_comma_separated("HOPGRAPH_HOSTS")),
        proxies=proxies,
        streams_per_address=read_limit("HOPGRAPH_STREAMS_PER_ADDRESS"),
        **given,
    )


def _read_days() -> float | None:
    given = os.environ.get(_KEEP_DAYS, "")
    try:
        return float(given) if given else None
    except ValueError:
        raise SettingsError(f"{_KEEP_DAYS}: must be a number of days, got {given!r:.80}") from None


def origins_from_environment() -> tuple[str, ...]:
    """Read the origins whose pages may call the app: `HOPGRAPH_ORIGINS`, comma-separated."""
    return _comma_separated("HOPGRAPH_ORIGINS")


def proxies_from_environment() -> tuple[str, ...]:
    """Read the app's proxies: `HOPGRAPH_PROXIES`, comma-separated; a SettingsError unless addresses or networks."""
    proxies = _comma_separated(_PROXIES)
    check_networks(proxies, _PROXIES)
    return proxies


def _comma_separated(variable: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, os.environ.get(variable, "").split(","))))
