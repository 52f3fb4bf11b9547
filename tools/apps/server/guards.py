"""Authentication, limits and checks in front of every endpoint of the app.

All of it is plain ASGI: bodies and streams are not buffered. Starlette's `TrustedHostMiddleware` is not used: it cannot
accept any host once a key is required, nor say how to allow one.

* Unknown host names are refused, so that another site cannot reach the app through a name of its own that resolves
  here (DNS rebinding). So are requests from other origins' pages.
* If keys are set, every request must have one, or be identified by `user_of`; on the page, people log in with theirs.
  Without keys and `user_of`, only local connections are allowed.
* Each request is logged in one line, with the id in the reply's X-Request-ID.
"""

import json
import logging
import math
import time
import traceback
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopgraph.tools.apps.server.caller_settings import read_limit
from hopgraph.tools.apps.server.identity import LoginError, LoginUnavailableError
from hopgraph.tools.apps.server.refusal import (
    CLIENT_LEFT,
    CLOSING,
    MCP_PATH,
    REQUEST_ID_HEADER,
    QuotaError,
    Refusal,
    RequestBody,
    at_most,
    begin_request,
    path_in_app,
)
from hopgraph.tools.apps.server.server_options import (
    LOGIN_PATH,
    PAGE_PATH,
    UPLOAD_PATH,
    ServingOptions,
    is_loopback,
)
from hopgraph.tools.text.sanitize import truncate_line

_CREDENTIALS = (b"authorization", b"x-api-key")
"""Headers through which keys or tokens could be guessed."""
_PUBLIC_PATHS = frozenset({"/", "/health", "/health/ready", "/favicon.ico"})  # they reveal and cost nothing
_PAGE_PATHS = frozenset({PAGE_PATH, f"{PAGE_PATH}/"})
_MAX_BUCKETS = 10_000
"""Maximum number of users and addresses whose rate is tracked; the longest idle one is dropped first."""
_CLOSED_PATHS = ("/internal", "/deploy", "/ui")
"""Routes of LangGraph's development server that clear it, show any thread or upload the project without a key, or fail
with a traceback if a graph has no UI."""
_KEY_PATHS = ("/docs", "/openapi.json", "/info", "/metrics")
"""Routes that LangGraph's server answers without a key."""
_ALLOW = "add it to the server's {}, or use hopgraph chat's {}"
_UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, RecursionError)
_FORWARDED = ("x-forwarded-for", "forwarded")
_FORM_OVERHEAD = 100_000  # bytes that a form adds to its files
_NO_KEY = Refusal(
    401,
    "missing or invalid key: send Authorization: Bearer KEY",
    "invalid_api_key",
    {"WWW-Authenticate": "Bearer"},
)
_LOGGED_OUT = Refusal(401, "you are not logged in; reload the page, or log in where you came from", "not_logged_in")
_ANONYMOUS_DIVISOR = 4
"""Callers without a key have limits this many times lower, per address, than those with one."""
_log = logging.getLogger("hopgraph.access")


class SecurityMiddleware:
    """Guards an app; mounted in another server, only its routes below `paths`."""

    def __init__(
        self,
        app: ASGIApp,
        options: ServingOptions,
        paths: Sequence[str] = (),
        logged_in: Callable[[Mapping[str, str]], str | None] = lambda cookies: None,
    ) -> None:
        # `logged_in` returns the user for the page's cookies.
        self._app, self._options, self._paths, self._logged_in = app, options, paths, logged_in
        self._hosts = _HostCheck(options, mounted=bool(paths))
        self._limiter, self._open = RateLimiter(options.requests_per_minute), Counter[tuple[str | None, str]]()
        self._anonymous_limiter = RateLimiter(max(1, options.requests_per_minute // _ANONYMOUS_DIVISOR))
        self._inner: ASGIApp = self._check_key
        if options.origins:
            self._inner = CORSMiddleware(self._check_key, options.origins, allow_methods=["*"], allow_headers=["*"])
        ancestors = " ".join(["'self'", *options.origins])  # an allowed origin may show the page in a frame
        self._headers = {
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            # The page needs inline scripts; injected code could still not reach another host.
            "Content-Security-Policy": "default-src 'self' data: blob:; object-src 'none'; base-uri 'self'; "
            "script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; form-action 'self'; "
            f"frame-ancestors {ancestors}",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or forward."""
        ours = not self._paths or any(_is_within(path_in_app(scope), each) for each in self._paths)
        if scope["type"] == "lifespan" or not ours:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await Refusal(403, "there is no WebSocket here", "not_found")(scope, receive, send)
        else:
            await self._observe(scope, receive, send)

    async def _observe(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add security headers, and log the request's path and outcome, never its content, when the reply has ended."""
        began, status, ended = time.perf_counter(), 500, False
        identity = begin_request(scope)

        async def observe(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                headers[REQUEST_ID_HEADER] = identity
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                ended = True
            await send(message)

        try:
            await (self._hosts.refusal(scope) or self._inner)(scope, receive, observe)
        except ClientDisconnect:
            status = CLIENT_LEFT
        finally:
            milliseconds = 1000 * (time.perf_counter() - began)
            user = scope.get("state", {}).get("user", "-")
            # In the page's paths a file name follows `=`.
            path = truncate_line(scope["path"].partition("=")[0], 120)
            logged = status if ended or status >= 400 else CLIENT_LEFT
            # Opening the page requests a hundred files.
            level = logging.DEBUG if scope["method"] == "GET" and status < 400 else logging.INFO
            _log.log(level, "%s %s %s %.0f ms %s %s", scope["method"], path, logged, milliseconds, user, identity)

    async def _check_key(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, client = path_in_app(scope), scope.get("client")
        user, refusal = await self._identify(scope)
        of_page, public = _is_within(path, PAGE_PATH), path in _PUBLIC_PATHS
        public = public or (path == LOGIN_PATH and bool(self._options.keys))
        address = client[0] if client else "?"
        # Callers who guess keys or have yet to log in are counted by address, separately from its users.
        limiter, name = (self._limiter, user) if user else (self._anonymous_limiter, address)
        place, limit = (user, address), self._options.streams_per_address
        limit = limit if user else max(1, limit // _ANONYMOUS_DIVISOR)
        tries = not user and any(header in _CREDENTIALS for header, _ in scope["headers"])
        free = path in _PUBLIC_PATHS or (of_page and scope["method"] == "GET" and not tries)
        answer: ASGIApp = self._limit_body
        if self._open[place] >= limit and path != "/health":
            whose = f"you have {limit} requests open at {address}" if user else f"{address} has {limit} requests open"
            why = f"{whose}{'' if user else ' without a key'}; close one, or try again in a moment"
            answer = Refusal(429, why, "rate_limit_exceeded", {"Retry-After": "1"})
        elif wait := 0.0 if free else limiter.wait(name):
            headers = {"Retry-After": str(math.ceil(wait))}
            answer = Refusal(429, "too many requests; try again in a moment", "rate_limit_exceeded", headers)
        elif user:
            scope.setdefault("state", {})["user"] = user
        elif path in _PAGE_PATHS and self._options.login_url and scope["method"] == "GET":
            answer = RedirectResponse(self._options.login_url, 303)
        elif path in _PAGE_PATHS and self._options.keys and scope["method"] == "GET":
            query = scope.get("query_string", b"").decode("latin-1")
            answer = RedirectResponse(f"{'' if path.endswith('/') else 'chat/'}login{'?' if query else ''}{query}", 303)
        elif not public:
            answer = refusal or (_NO_KEY if self._options.keys or not of_page else _LOGGED_OUT)
        self._open[place] += 1
        try:
            await answer(scope, receive, send)
        finally:
            self._open[place] -= 1
            if not self._open[place]:
                del self._open[place]

    async def _identify(self, scope: Scope) -> tuple[str | None, Refusal | None]:
        """Return the user of a request, also by the page's log-in; else None and how to refuse a wrong log-in."""
        user, refusal = await identify(self._options, scope)
        if not user and _is_within(path_in_app(scope), PAGE_PATH):
            user = self._logged_in(HTTPConnection(scope).cookies)
        return user, refusal

    async def _limit_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        uploads = path_in_app(scope).startswith(UPLOAD_PATH)
        limit = self._options.max_upload_bytes + _FORM_OVERHEAD if uploads else self._options.max_body_bytes
        await RequestBody(at_most(limit), receive, send).pass_on(self._app, scope, limit)


async def identify(options: ServingOptions, scope: Scope) -> tuple[str | None, Refusal | None]:
    """Return the user of a request; else None, with a refusal if its log-in is wrong."""
    try:
        return await options.user_of_request(HTTPConnection(scope)), None
    except LoginError as error:
        headers = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
        return None, Refusal(401, truncate_line(str(error), 200), "invalid_token", headers)
    except LoginUnavailableError as error:
        return None, Refusal(503, truncate_line(str(error), 200), "log_in_unavailable", {"Retry-After": "30"})
    except Exception as error:  # noqa: BLE001 - from the operator's function; the message may contain data sent
        place = traceback.extract_tb(error.__traceback__)[-1]
        _log.error("user_of failed: %s at %s:%s", type(error).__name__, Path(place.filename).name, place.lineno)
        return None, Refusal(500, "your identity could not be determined; see the server's log", "user_of_failed")


class ServerGuard:
    """Guards a whole LangGraph server, whose own `Auth` skips some routes and does not limit sizes."""

    def __init__(self, app: ASGIApp, options: ServingOptions) -> None:
        self._app, self._options, self._hosts = app, options, _HostCheck(options, mounted=True)
        self._max_body, self._sent = options.max_body_bytes, DailyCount("HOPGRAPH_BYTES_PER_DAY", "sent {:,} bytes")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or forward; the server's requests to itself, which clients cannot forge, are forwarded."""
        of_server = scope["type"] == "lifespan" or scope.get("root_path", "").startswith("/noauth")
        answer = self._app if of_server else self._hosts.refusal(scope) or self._unless_closed
        await answer(scope, receive, send)

    async def _unless_closed(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, has_users = path_in_app(scope), self._options.has_users
        user, refusal = await identify(self._options, scope) if has_users else (None, None)
        answer: ASGIApp = self._answer
        if any(_is_within(path, each) for each in _CLOSED_PATHS):
            answer = Refusal(403, f"{path!r:.80} is closed", "closed")
        elif has_users and not user and any(_is_within(path, each) for each in _KEY_PATHS):
            answer = refusal or _NO_KEY
        elif user and scope["type"] == "http":
            body = RequestBody(self._count(user), receive, send)
            await body.pass_on(self._answer, scope, self._max_body)
            return
        await answer(scope, receive, send)

    def _count(self, user: str) -> Callable[[int], Refusal | None]:
        """Return a counter that refuses a body that is too large or exceeds the user's daily limit."""
        too_large = at_most(self._max_body)

        def count(more: int) -> Refusal | None:
            try:
                self._sent.left(user)
            except QuotaError as error:
                return Refusal(507, str(error), "no_room", CLOSING) if more else None
            self._sent.count(user, more)
            return too_large(more)

        return count

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = path_in_app(scope)
        if path != MCP_PATH:
            await self._app(scope, receive, send)
            return
        # LangGraph's MCP endpoint calls its own server, treats a refusal as a failure, and fails on malformed requests.
        try:
            await self._app(scope, receive, send)
        except httpx.HTTPStatusError as error:
            status, text = error.response.status_code, error.response.text
            await Refusal(status, str(json.loads(text)["detail"]) if status < 500 else text)(scope, receive, send)
        except _UNREADABLE as error:
            _log.warning("POST %s 400: %s", path, type(error).__name__)
            why = f"this is not a valid MCP request ({type(error).__name__})"
            await Refusal(400, why)(scope, receive, send)


def _is_within(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")


class _HostCheck:
    """Refuses unknown host names and origins, and other machines if no key is set."""

    def __init__(self, options: ServingOptions, *, mounted: bool) -> None:
        self._options = options
        self._names = {name.lower().strip("[]") for name in (options.host, *options.hosts)}
        self._origins = {origin.lower() for origin in options.origins}
        # On a network address, or behind another server, any name may resolve here; then the keys protect the app.
        self._any_name = (mounted or not is_loopback(options.host)) and options.has_users and not options.hosts

    def refusal(self, scope: Scope) -> Refusal | None:
        headers, client = Headers(scope=scope), scope.get("client")
        # A proxy on this machine reports its clients.
        callers = [client[0]] if client else []
        callers += [each.strip() for name in _FORWARDED for each in headers.get(name, "").split(",") if each.strip()]
        if not self._options.has_users and not all(map(is_loopback, callers)):
            return Refusal(403, "only local connections are allowed; set HOPGRAPH_API_KEY to allow others", "forbidden")
        host = _host_of(f"//{headers.get('host', '')}")
        if not self._any_name and not is_loopback(host) and host not in self._names:
            why = f"host {host!r:.80} is not allowed; {_ALLOW.format('HOPGRAPH_HOSTS', '--allow-host')}"
            return Refusal(421, why, "wrong_host")
        origin = headers.get("origin", "").lower()
        same_origin = origin.partition("://")[2] == headers.get("host", "").lower()
        if origin and origin not in self._origins and not same_origin:
            why = f"pages of {origin!r:.80} are not allowed; {_ALLOW.format('HOPGRAPH_ORIGINS', '--allow-origin')}"
            return Refusal(403, why, "wrong_origin")
        return None


def _host_of(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


class RateLimiter:
    """A token bucket per user or address: `per_minute` requests a minute, in bursts if need be."""

    def __init__(self, per_minute: int) -> None:
        self._capacity = float(per_minute)
        self._buckets = OrderedDict[str, tuple[float, float]]()  # name → (tokens, time)

    def wait(self, name: str) -> float:
        """Count a request; return 0 if it is accepted, else the seconds until one would be."""
        now = time.monotonic()
        tokens, updated = self._buckets.pop(name, (self._capacity, now))
        tokens = min(self._capacity, tokens + (now - updated) * self._capacity / 60)
        self._buckets[name] = (tokens - 1 if tokens >= 1 else tokens), now
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if tokens >= 1 else (1 - tokens) * 60 / self._capacity


class DailyCount:
    """Usage per user and day (UTC) since the process started; `done` describes it, e.g. `sent {:,} bytes`."""

    def __init__(self, variable: str, done: str) -> None:
        self.limit = read_limit(variable)
        self._why = f"you have {done.format(self.limit)} today, which is the limit; it resets at 00:00 UTC"
        self._day, self._done = 0, Counter[str]()

    def left(self, user: str) -> int:
        """Return the user's remaining amount for today; a QuotaError if nothing is left."""
        if (today := int(time.time() // (24 * 3600))) != self._day:
            self._day, self._done = today, Counter[str]()
        if self._done[user] >= self.limit:
            raise QuotaError(self._why)
        return self.limit - self._done[user]

    def count(self, user: str, more: int = 1) -> None:
        """Add to a user's usage."""
        self._done[user] += more


class DailyCalls(DailyCount):
    """Model calls per user and day; cached replies are not counted."""

    def __init__(self) -> None:
        super().__init__("HOPGRAPH_CALLS_PER_DAY", "made {:,} model calls")
