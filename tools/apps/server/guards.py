"""Who is let in, how often, and with how much: what stands before every door of the app.

All of it is plain ASGI: bodies and streams pass through as they come, nothing is held back.

* A host name that is not the app's is refused, so that a page elsewhere cannot reach it by a name of its own that
  points here (DNS rebinding). So is a request that another origin's page sends.
* Where keys are asked for, every request but the page's own names one; the page asks people to log in. Where none
  are, only this machine is let in.
* One line is logged for each request.
"""

import math
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopgraph.tools.apps.server.access_log import AccessLog
from hopgraph.tools.apps.server.api_keys import user_of
from hopgraph.tools.apps.server.rate_limit import Rates
from hopgraph.tools.apps.server.refusal import Refusal, read_and_drop
from hopgraph.tools.apps.server.server_options import OWNER, PAGE_PATH, UPLOAD_PATH, ServingOptions, is_loopback

_OPEN = frozenset({"/", "/health", "/favicon.ico"})
"""Paths that tell nothing and cost nothing."""
_FRAME = 100_000
"""What a form adds to the files that it uploads."""


class Guards:
    """Stands before an app; paths that do not begin with any of `paths` pass untouched, if there are any.

    With paths the app is a part of another server, which listens where that says.
    """

    def __init__(self, app: ASGIApp, options: ServingOptions, paths: Sequence[str] = ()) -> None:
        self._app = app
        self._paths = tuple(paths)
        guarded: ASGIApp = _Keys(_Bodies(app, options), options)
        if options.origins:
            guarded = CORSMiddleware(guarded, options.origins, allow_methods=["*"], allow_headers=["*"])
        self._guarded = AccessLog(_Hosts(_Headers(guarded, options), options, inside=bool(paths)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or pass on."""
        ours = not self._paths or any(_within(scope.get("path", ""), each) for each in self._paths)
        if scope["type"] == "lifespan" or not ours:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await Refusal(403, "there is no WebSocket here", "not_found")(scope, receive, send)
        else:
            await self._guarded(scope, receive, send)


def _within(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")


class _Headers:
    """Adds what tells a browser to be careful; an app of an allowed origin may show the page in a frame."""

    def __init__(self, app: ASGIApp, options: ServingOptions) -> None:
        self._app = app
        framing = " ".join(["'self'", *options.origins])
        self._added = {
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            # The page works with scripts in itself; but whatever got into it, it could ask nobody else.
            "Content-Security-Policy": "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
            f"object-src 'none'; base-uri 'self'; frame-ancestors {framing}",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._added.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


class _Hosts:
    """Refuses names and origins that are not the app's, and other machines where no key is asked for."""

    def __init__(self, app: ASGIApp, options: ServingOptions, *, inside: bool) -> None:
        self._app = app
        self._options = options
        self._names = {name.lower().strip("[]") for name in (options.host, *options.hosts)}
        self._origins = {origin.lower() for origin in options.origins}
        # Behind an address of the network, or another server, any name may lead here; then the keys are the lock.
        self._any_name = (inside or not options.is_local) and bool(options.keys) and not options.hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers = Headers(scope=scope)
        client = scope.get("client")
        if not self._options.keys and client and not is_loopback(client[0]):
            return Refusal(403, "only this machine is let in; set HOPGRAPH_API_KEY to let others in", "forbidden")
        host = _host(f"//{headers.get('host', '')}")
        if not self._any_name and not is_loopback(host) and host not in self._names:
            why = f"this app is not reached as {host!r:.80}; {_allow('HOPGRAPH_HOSTS', '--allow-host')}"
            return Refusal(421, why, "wrong_host")
        origin = headers.get("origin", "").lower()
        if origin and origin not in self._origins and not _same_place(origin, headers.get("host", "")):
            why = f"pages of {origin!r:.80} are not let in; {_allow('HOPGRAPH_ORIGINS', '--allow-origin')}"
            return Refusal(403, why, "wrong_origin")
        return None


def _allow(variable: str, option: str) -> str:
    return f"name it in the server's {variable}, or with {option} of hopgraph chat"


def _host(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


def _same_place(origin: str, host: str) -> bool:
    return origin.partition("://")[2] == host.lower()


class _Keys:
    """Asks for keys, and counts requests."""

    def __init__(self, app: ASGIApp, options: ServingOptions) -> None:
        self._app = app
        self._keys = options.keys
        self._rates = Rates(options.requests_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, client = scope["path"], scope.get("client")
        of_page = _within(path, PAGE_PATH)
        user = user_of(Headers(scope=scope).get("authorization", ""), self._keys) if self._keys else OWNER
        # Who guesses keys is counted by address, and so are people who have yet to log in.
        name = user if user and self._keys else f"at {client[0] if client else '?'}"
        free = path in _OPEN or (of_page and scope["method"] == "GET")
        wait = 0.0 if free else self._rates.wait(name)
        if wait:
            told = {"Retry-After": str(math.ceil(wait))}
            await Refusal(429, "too many requests; try again in a moment", "rate_limit_exceeded", told)(
                scope, receive, send
            )
            return
        if user is None and not of_page and path not in _OPEN:
            asked = {"WWW-Authenticate": "Bearer"}
            await Refusal(401, "no key, or a wrong one: send Authorization: Bearer KEY", "invalid_api_key", asked)(
                scope, receive, send
            )
            return
        if user and not of_page:
            scope.setdefault("state", {})["user"] = user
        await self._app(scope, receive, send)


class _TooBigError(Exception):
    """A body that says nothing of its size has grown too big."""


class _Bodies:
    """Refuses bodies that are too big, also those that come in pieces."""

    def __init__(self, app: ASGIApp, options: ServingOptions) -> None:
        self._app = app
        self._most, self._most_uploaded = options.max_body_bytes, options.max_upload_bytes + _FRAME

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = self._most_uploaded if _within(scope["path"], UPLOAD_PATH) else self._most
        # Closed afterwards, or what is still sent would be read and dropped for ever.
        last = {"Connection": "close"}
        refusal = Refusal(413, f"the request has more than {most:,} bytes; send less", "request_too_large", last)
        said = Headers(scope=scope).get("content-length", "")
        if said.isdecimal() and int(said) > most:
            await read_and_drop(receive)
            await refusal(scope, receive, send)
            return
        size, begun = 0, False

        async def counted() -> Message:
            nonlocal size
            if size <= most:
                message = await receive()
                size += len(message.get("body", b""))
                if size <= most:
                    return message
            raise _TooBigError

        async def watched(message: Message) -> None:
            nonlocal begun
            # What an app within makes of the error is not told; the refusal stands for it.
            if begun or size <= most:
                begun = True
                await send(message)

        try:
            await self._app(scope, counted, watched)
        except Exception:
            if size <= most:
                raise
        if size > most and not begun:
            await read_and_drop(receive)
            await refusal(scope, receive, send)
