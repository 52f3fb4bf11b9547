"""A company's chat: hopgraph's page behind the company's own log-in, with documents for each group; see README.md.

Start it with `uvicorn --factory company_chat:create`.
"""

import logging
import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.starlette_client import OAuth, OAuthError
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from joserfc.errors import JoseError
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import HTTPConnection

from hopgraph.state import CorpusError, HopgraphError
from hopgraph.tools.apps.server.identity import to_user_id
from hopgraph.tools.apps.server.server_options import ServingOptions, is_loopback
from hopgraph.tools.apps.server.service import check_options
from hopgraph.tools.apps.server.web_app import create_app
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.retrieval import update_index

HERE = Path(__file__).parent
REQUIRED = {
    "CHAT_URL": "the address that people open, e.g. https://chat.example.org",
    "CHAT_ISSUER": "the address of your OpenID Connect issuer",
    "CHAT_CLIENT_ID": "this app's id at the issuer",
    "CHAT_CLIENT_SECRET": "this app's secret at the issuer",
    "CHAT_SESSION_SECRET": "32 random characters or more, which sign the session cookie",
    "CHAT_THREADS": "where conversations are stored: postgresql://USER@HOST/DATABASE, or a file",
}
DEFAULTS = {
    "CHAT_USER_CLAIM": "sub",
    "CHAT_GROUPS_CLAIM": "groups",
    "CHAT_DOCUMENTS": str(HERE / "documents"),
    "CHAT_INDEXES": "indexes",
}
FOR_EVERYBODY = "all"  # the folder of documents that everybody who logs in may ask
SESSION_SECONDS = 8 * 3600  # then people log in again, and their groups are read again
_log = logging.getLogger("hopgraph.company_chat")


def create() -> FastAPI:
    """Create the app from the environment; where something is missing or wrong, exit with one line."""
    logging.basicConfig()
    logging.getLogger("hopgraph").setLevel(logging.INFO)  # a line for each question
    settings = read_settings()
    try:
        documents = index_documents(Path(settings["CHAT_DOCUMENTS"]), Path(settings["CHAT_INDEXES"]))
        options = make_options(settings, documents)
        run_in_background(check_options(options))
        chat = create_app(options)
    except (HopgraphError, OSError) as error:
        raise SystemExit(f"company_chat: {error}") from None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with chat.router.lifespan_context(chat):
            yield

    app = FastAPI(lifespan=lifespan, openapi_url=None)
    add_login(app, settings, documents)
    app.add_middleware(
        SessionMiddleware,
        secret_key=settings["CHAT_SESSION_SECRET"],
        session_cookie="company_chat",
        max_age=SESSION_SECONDS,
        same_site="lax",
        https_only=settings["CHAT_URL"].startswith("https://"),
    )
    app.mount("/", chat)
    return app


def read_settings() -> dict[str, str]:
    """Return the variables of `REQUIRED` and `DEFAULTS`; exit with one line where one is missing or unsafe."""
    settings = {**DEFAULTS, **{name: value for name in (*REQUIRED, *DEFAULTS) if (value := os.environ.get(name))}}
    if missing := [f"{name} ({what})" for name, what in REQUIRED.items() if name not in settings]:
        raise SystemExit(f"company_chat: set {'; '.join(missing)}")
    if len(settings["CHAT_SESSION_SECRET"]) < 32:
        raise SystemExit("company_chat: CHAT_SESSION_SECRET has under 32 characters; use a longer one")
    for name in ("CHAT_URL", "CHAT_ISSUER"):
        parts = urlsplit(settings[name])
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise SystemExit(f"company_chat: {name}={settings[name]}: use https")
        settings[name] = settings[name].rstrip("/")
    return settings


def index_documents(source: Path, indexes: Path) -> dict[str, str]:
    """Bring the index of each folder in `source` up to date, and return the sets of documents by the folders' names.

    A folder that cannot be indexed, e.g. an empty one, is logged and left out; a CorpusError where no folder is left.
    """
    sets = dict[str, str]()
    for folder in sorted(path for path in source.iterdir() if path.is_dir()):
        try:
            report = update_index(folder, indexes / folder.name, skip_invalid=True)
        except CorpusError as error:
            _log.warning("documents of %s are left out: %s", folder.name, error)
            continue
        _log.info("documents of %s: %d passages, %d files skipped", folder.name, report.passages, report.skipped)
        sets[folder.name] = f"bm25:{indexes / folder.name}"
    if not sets:
        raise CorpusError(f"CHAT_DOCUMENTS={source}: no folder with documents")
    return sets


def make_options(settings: Mapping[str, str], documents: Mapping[str, str]) -> ServingOptions:
    """Return who may use the chat, what they may ask, and how it looks."""
    sets_of = dict[str, list[str]]()  # of the people whom this process has seen, by what their session says

    def user_of(connection: HTTPConnection) -> str | None:
        """Return who sends a request, by its session, which also says what they may ask."""
        person = connection.session.get("person")
        if person is None or person["until"] < time.time():
            return None
        sets_of[to_user_id(person["name"])] = [FOR_EVERYBODY, *person["groups"]]
        return person["name"]

    return ServingOptions(
        user_of=user_of,
        login_url="/login",
        logout_url="/logout",
        documents=documents,
        documents_of=lambda user: sets_of.get(user, []),
        threads=settings["CHAT_THREADS"],
        hosts=(urlsplit(settings["CHAT_URL"]).hostname or "",),
        title="Ask Acme",
        logo=HERE / "logo.svg",
        color="#0f766e",
        welcome="Ask about travel, leave and working hours. Each answer names its sources.",
        footer="Answers can be wrong: check the source. Questions? [it@acme.example](mailto:it@acme.example)",
        examples=("How many days of leave do employees get?", "How much does a hotel night cost?"),
        simple=True,
    )


def add_login(app: FastAPI, settings: Mapping[str, str], documents: Mapping[str, str]) -> None:
    """Add the log-in by OpenID Connect: authorization code with PKCE, state and nonce; and the log-out."""
    oauth: Any = OAuth()
    issuer: Any = oauth.register(
        "issuer",
        client_id=settings["CHAT_CLIENT_ID"],
        client_secret=settings["CHAT_CLIENT_SECRET"],
        server_metadata_url=f"{settings['CHAT_ISSUER']}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256", "timeout": 10},
    )

    @app.get("/login")
    async def login(request: Request) -> Response:
        return await issuer.authorize_redirect(request, f"{settings['CHAT_URL']}/callback")

    @app.get("/callback")
    async def callback(request: Request) -> Response:
        expected = {
            "iss": {"essential": True, "values": [settings["CHAT_ISSUER"]]},
            "aud": {"essential": True, "values": [settings["CHAT_CLIENT_ID"]]},
        }
        token: Mapping[str, Any] = await issuer.authorize_access_token(request, claims_options=expected)
        claims: Mapping[str, Any] = token.get("userinfo") or {}
        name, groups = claims.get(settings["CHAT_USER_CLAIM"]), claims.get(settings["CHAT_GROUPS_CLAIM"])
        if not isinstance(name, str) or not name:
            raise OAuthError(description=f"the ID token has no claim {settings['CHAT_USER_CLAIM']}")
        mine = [group for group in documents if isinstance(groups, list) and group in groups]
        request.session.clear()
        request.session["person"] = {"name": name, "groups": mine, "until": time.time() + SESSION_SECONDS}
        return RedirectResponse("/chat/", 303)

    @app.get("/logout")
    async def logout(request: Request) -> Response:
        request.session.clear()
        known = await issuer.load_server_metadata()
        if "end_session_endpoint" not in known:
            return HTMLResponse(_PAGE.format("You are logged out."))
        client = settings["CHAT_CLIENT_ID"]
        return await issuer.logout_redirect(request, f"{settings['CHAT_URL']}/", client_id=client)

    for kind in (AuthlibBaseError, JoseError, httpx2.HTTPError):
        app.add_exception_handler(kind, _refuse)


_PAGE = '<!doctype html><meta charset="utf-8"><title>Ask Acme</title><p>{} <a href="/login">Log in</a></p>'


async def _refuse(request: Request, error: Exception) -> Response:
    _log.warning("a log-in failed: %s", type(error).__name__)  # the message could hold what was sent
    if isinstance(error, httpx2.HTTPError):
        return HTMLResponse(_PAGE.format("The log-in cannot be reached; try again in a minute."), 503)
    return HTMLResponse(_PAGE.format("The log-in failed."), 401)
