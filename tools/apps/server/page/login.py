"""Logging in to the page with a key, and logging out; sessions are kept in memory."""

import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from hopgraph.tools.apps.server.page.html_text import escape_text
from hopgraph.tools.apps.server.page.texts import Texts, texts_for
from hopgraph.tools.apps.server.server_options import LOGIN_PATH, LOGOUT_PATH, ServingOptions, user_of_key

COOKIE = "hopgraph_login"
_IDLE_SECONDS = 7 * 24 * 3600.0
"""Idle time after which a session expires."""
_MAX_SESSIONS = 20  # per user; another one ends the one that was idle longest


class Logins:
    """The sessions of logged-in users, by the token in their cookie."""

    def __init__(self) -> None:
        self._users = dict[str, tuple[str, float]]()  # token → user, time of last use

    def begin(self, user: str) -> str:
        """Log a user in; return the token."""
        of_user = sorted((used, token) for token, (name, used) in self._users.items() if name == user)
        for _, token in of_user[: max(0, len(of_user) - _MAX_SESSIONS + 1)]:
            del self._users[token]
        token = secrets.token_urlsafe(32)
        self._users[token] = user, time.monotonic()
        return token

    def user_of(self, cookies: Mapping[str, str]) -> str | None:
        """Return the user logged in with these cookies; None if there is no valid log-in."""
        token, now = cookies.get(COOKIE, ""), time.monotonic()
        user, used = self._users.get(token, (None, now))
        if user is None or now - used > _IDLE_SECONDS:
            self._users.pop(token, None)
            return None
        self._users[token] = user, now
        return user

    def end(self, cookies: Mapping[str, str]) -> None:
        """Log out the user with these cookies."""
        self._users.pop(cookies.get(COOKIE, ""), None)


def add_login(app: FastAPI, options: ServingOptions, logins: Logins) -> None:
    """Add the login form, which redirects to the page, and the logout route."""
    from hopgraph.tools.apps.server.page.page_components import read_logo  # which imports Gradio

    logo = f'<img src="{escape_text(read_logo(options.logo))}" alt="">' if options.logo else ""
    form = (
        Path(__file__)
        .with_name("login.html")
        .read_text(encoding="utf-8")
        .replace("{{title}}", escape_text(options.title))
        .replace("{{logo}}", logo)
    )

    async def show(request: Request) -> Response:
        return _form(form, request)

    async def log_in(request: Request) -> Response:
        given = (await request.form()).get("key")
        user = user_of_key(given.strip(), options.keys) if isinstance(given, str) else None
        if user is None:
            return _form(form, request, "unknown_key")
        query = request.url.query
        reply = RedirectResponse(f"./{'?' if query else ''}{query}", 303)
        # An allowed origin may show the page in a frame, where only SameSite=None cookies are sent.
        framed = bool(options.origins) and request.url.scheme == "https"
        secure = request.url.scheme == "https"
        reply.set_cookie(COOKIE, logins.begin(user), httponly=True, secure=secure, samesite="none" if framed else "lax")
        return reply

    async def log_out(request: Request) -> Response:
        logins.end(request.cookies)
        reply = RedirectResponse("login", 303)
        reply.delete_cookie(COOKIE)
        return reply

    app.add_api_route(LOGIN_PATH, show, methods=["GET"], include_in_schema=False)
    app.add_api_route(LOGIN_PATH, log_in, methods=["POST"], include_in_schema=False)
    app.add_api_route(LOGOUT_PATH, log_out, methods=["POST"], include_in_schema=False)


def _form(form: str, request: Request, problem: str = "") -> HTMLResponse:
    t = texts_for(request.headers.get("accept-language", ""))
    for key in ("your_key", "log_in"):
        form = form.replace(f"{{{{{key}}}}}", escape_text(t(key)))
    problem = f'<p role="alert">{escape_text(t(problem))}</p>' if problem else ""
    action = f"login?{quote(request.url.query, safe='=&%')}" if request.url.query else "login"
    text = form.replace("{{action}}", escape_text(action)).replace("{{problem}}", problem)
    return HTMLResponse(text, 401 if problem else 200, {"Cache-Control": "no-store"})


def account_html(user: str, cookies: Mapping[str, str], t: Texts, logout_url: str = "") -> str:
    """Return the user's name, with a logout button if they logged in on this page, else a link to `logout_url`."""
    label = escape_text(t("log_out"))
    # Not a form: the page's content security policy would block a redirect to an issuer.
    out = f'<a href="{escape_text(logout_url)}">{label}</a>' if logout_url else ""
    if COOKIE in cookies:
        out = f'<form method="post" action="logout"><button>{label}</button></form>'
    return f"<span>{escape_text(user)}</span>{out}"
