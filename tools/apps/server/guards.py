"""Authentication, limits and checks in front of every endpoint of the app.

All of it is plain ASGI: bodies and streams pass through as they come, nothing is buffered. Starlette's
`TrustedHostMiddleware` is not used: it cannot accept any host once a key is required, nor say how to allow one.

* A host name that is not the app's is refused, so that another site cannot reach it by its own name that points
  here (DNS rebinding). So is a request from another origin's page.
* Where keys are set, every request must carry one, or be known to `user_of`; on the page people log in with theirs.
  Where neither is there, only this machine is let in.
* One line is logged for each request, under an id that the reply's X-Request-ID repeats.
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
"""Headers in which a key or a token could be guessed."""
_PUBLIC_PATHS = frozenset({"/", "/health", "/health/ready", "/favicon.ico"})  # they reveal and cost nothing
_PAGE_PATHS = frozenset({PAGE_PATH, f"{PAGE_PATH}/"})
_MAX_BUCKETS = 10_000
"""Maximum users and addresses whose rate is remembered; the one that was idle longest is dropped first."""
_CLOSED_PATHS = ("/internal", "/deploy", "/ui")
"""Routes of LangGraph's development server that empty it, show any thread and upload the project, without a key, or
fail with a traceback if a graph has no interface."""
_KEY_PATHS = ("/docs", "/openapi.json", "/info", "/metrics")
"""Routes that it answers without a key."""
_ALLOW = "add it to the server's {}, or use hopgraph chat's {}"
_UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, RecursionError)
_FORWARDED = ("x-forwarded-for", "forwarded")
_FORM_OVERHEAD = 100_000  # bytes that a form adds to its files
_NO_KEY = Refusal(
    401,
    "no key, or a wrong one: send Authorization: Bearer KEY",
    "invalid_api_key",
    {"WWW-Authenticate": "Bearer"},
)
_STRANGER = Refusal(401, "you are not logged in; reload the page, or log in where you came from", "not_logged_in")
_STRANGERS_PART = 4
"""Callers without a key have limits this many times lower, per address, than those with one."""
_log = logging.getLogger("hopgraph.access")


class SecurityMiddleware:
    """Guards an app; in another server, which chooses the address, only the paths that begin with any of `paths`."""

    def __init__(
        self,
        app: ASGIApp,
        options: ServingOptions,
        paths: Sequence[str] = (),
        logged_in: Callable[[Mapping[str, str]], str | None] = lambda cookies: None,
    ) -> None:
        # `logged_in` gives the user of a page's cookies.
        self._app, self._options, self._paths, self._logged_in = app, options, paths, logged_in
        self._hosts = _HostCheck(options, mounted=bool(paths))
        self._limiter, self._open = RateLimiter(options.requests_per_minute), Counter[tuple[str | None, str]]()
        self._strangers = RateLimiter(max(1, options.requests_per_minute // _STRANGERS_PART))
        self._let_in: ASGIApp = self._check_key
        if options.origins:
            self._let_in = CORSMiddleware(self._check_key, options.origins, allow_methods=["*"], allow_headers=["*"])
        ancestors = " ".join(["'self'", *options.origins])  # an allowed origin may show the page in a frame
        self._headers = {
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            # The page needs inline scripts; but injected code could reach no other host.
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
        """Add security headers, and log the request when its reply has ended: the path and the outcome, no contents."""
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
            await (self._hosts.refusal(scope) or self._let_in)(scope, receive, observe)
        except ClientDisconnect:
            status = CLIENT_LEFT
        finally:
            milliseconds = 1000 * (time.perf_counter() - began)
            user = scope.get("state", {}).get("user", "-")
            # What follows `=` in a path of the page is a file's name.
            path = truncate_line(scope["path"].partition("=")[0], 120)
            logged = status if ended or status >= 400 else CLIENT_LEFT
            # A page asks for a hundred files as it opens.
            level = logging.DEBUG if scope["method"] == "GET" and status < 400 else logging.INFO
            _log.log(level, "%s %s %s %.0f ms %s %s", scope["method"], path, logged, milliseconds, user, identity)

    async def _check_key(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, client = path_in_app(scope), scope.get("client")
        user, refusal = await self._identify(scope)
        of_page, public = _is_within(path, PAGE_PATH), path in _PUBLIC_PATHS
        public = public or (path == LOGIN_PATH and bool(self._options.keys))
        address = client[0] if client else "?"
        # Those who guess keys are counted by address, apart from its users, and so are people who have yet to log in.
        limiter, name = (self._limiter, user) if user else (self._strangers, address)
        place, most = (user, address), self._options.streams_per_address
        most = most if user else max(1, most // _STRANGERS_PART)
        tries = not user and any(header in _CREDENTIALS for header, _ in scope["headers"])
        free = path in _PUBLIC_PATHS or (of_page and scope["method"] == "GET" and not tries)
        answer: ASGIApp = self._limit_body
        if self._open[place] >= most and path != "/health":
            whose = f"you have {most} requests open at {address}" if user else f"{address} has {most} requests open"
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
            answer = refusal or (_NO_KEY if self._options.keys or not of_page else _STRANGER)
        self._open[place] += 1
        try:
            await answer(scope, receive, send)
        finally:
            self._open[place] -= 1
            if not self._open[place]:
                del self._open[place]

    async def _identify(self, scope: Scope) -> tuple[str | None, Refusal | None]:
        """Return who sends a request; None if unknown, with what is wrong with the log-in if there is one."""
        user, refusal = await identify(self._options, scope)
        if not user and _is_within(path_in_app(scope), PAGE_PATH):
            user = self._logged_in(HTTPConnection(scope).cookies)
        return user, refusal

    async def _limit_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        uploads = path_in_app(scope).startswith(UPLOAD_PATH)
        limit = self._options.max_upload_bytes + _FORM_OVERHEAD if uploads else self._options.max_body_bytes
        await RequestBody(at_most(limit), receive, send).pass_on(self._app, scope, limit)


async def identify(options: ServingOptions, scope: Scope) -> tuple[str | None, Refusal | None]:
    """Return the user of a request; None if unknown, with what is wrong with the log-in if there is one."""
    try:
        return await options.user_of_request(HTTPConnection(scope)), None
    except LoginError as error:
        headers = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
        return None, Refusal(401, truncate_line(str(error), 200), "invalid_token", headers)
    except LoginUnavailableError as error:
        return None, Refusal(503, truncate_line(str(error), 200), "log_in_unavailable", {"Retry-After": "30"})
    except Exception as error:  # noqa: BLE001 - of the operator's function; its message may hold what was sent
        place = traceback.extract_tb(error.__traceback__)[-1]
        _log.error("user_of failed: %s at %s:%s", type(error).__name__, Path(place.filename).name, place.lineno)
        return None, Refusal(500, "your identity could not be determined; the server's log says why", "user_of_failed")


class ServerGuard:
    """Guards a whole LangGraph server: its own `Auth` asks for the keys, but not on every route, nor how much comes."""

    def __init__(self, app: ASGIApp, options: ServingOptions) -> None:
        self._app, self._options, self._hosts = app, options, _HostCheck(options, mounted=True)
        self._max_body, self._sent = options.max_body_bytes, DailyCount("HOPGRAPH_BYTES_PER_DAY", "sent {:,} bytes")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or forward; the server's requests to itself, which no client can fake, are forwarded."""
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
        """Refuse a body that is too large, or exceeds the user's daily limit, as it may be stored."""
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
        # The server's MCP endpoint asks the server itself, takes its refusal for a failure, and reads all there is.
        try:
            await self._app(scope, receive, send)
        except httpx.HTTPStatusError as error:
            status, text = error.response.status_code, error.response.text
            await Refusal(status, str(json.loads(text)["detail"]) if status < 500 else text)(scope, receive, send)
        except _UNREADABLE as error:
            _log.warning("POST %s 400: %s", path, type(error).__name__)
            why = f"this is not a valid request of the protocol ({type(error).__name__})"
            await Refusal(400, why)(scope, receive, send)


def _is_within(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")


class _HostCheck:
    """Refuses unknown host names and origins, and other machines if no key is set."""

    def __init__(self, options: ServingOptions, *, mounted: bool) -> None:
        self._options = options
        self._names = {name.lower().strip("[]") for name in (options.host, *options.hosts)}
        self._origins = {origin.lower() for origin in options.origins}
        # On a network address, or behind another server, any name may lead here; then the keys protect the app.
        self._any_name = (mounted or not is_loopback(options.host)) and options.has_users and not options.hosts

    def refusal(self, scope: Scope) -> Refusal | None:
        headers, client = Headers(scope=scope), scope.get("client")
        # A proxy on this machine says whom it forwards for.
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
    """Lets each user or address send `per_minute` requests a minute, in bursts if it likes: a token bucket each."""

    def __init__(self, per_minute: int) -> None:
        self._capacity = float(per_minute)
        self._buckets = OrderedDict[str, tuple[float, float]]()  # name → the tokens at a time

    def wait(self, name: str) -> float:
        """Count a request; return the seconds until one would be accepted, 0 for one that is."""
        now = time.monotonic()
        tokens, updated = self._buckets.pop(name, (self._capacity, now))
        tokens = min(self._capacity, tokens + (now - updated) * self._capacity / 60)
        self._buckets[name] = (tokens - 1 if tokens >= 1 else tokens), now
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if tokens >= 1 else (1 - tokens) * 60 / self._capacity


class DailyCount:
    """Daily usage of each key's user (UTC), since the process started; `done` describes it, with the limit in it."""

    def __init__(self, variable: str, done: str) -> None:
        self.limit = read_limit(variable)
        self._why = f"you have {done.format(self.limit)} today, which is the limit; it resets at 00:00 UTC"
        self._day, self._done = 0, Counter[str]()

    def left(self, user: str) -> int:
        """Return how much a user may still use today; a QuotaError if nothing is left."""
        if (today := int(time.time() // (24 * 3600))) != self._day:
            self._day, self._done = today, Counter[str]()
        if self._done[user] >= self.limit:
            raise QuotaError(self._why)
        return self.limit - self._done[user]

    def count(self, user: str, more: int = 1) -> None:
        """Count some usage."""
        self._done[user] += more


class DailyCalls(DailyCount):
    """How many model calls each key's user makes a day; a cached reply is not a call."""

    def __init__(self) -> None:
        super().__init__("HOPGRAPH_CALLS_PER_DAY", "made {:,} model calls")
