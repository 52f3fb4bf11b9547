"""An OpenID Connect issuer for trying the chat out, and for tests: anybody logs in as anybody. Never use it for real.

Start it with `uvicorn --factory fake_issuer:create --port 9000`.
"""

import base64
import hashlib
import json
import os
import secrets
import time
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

PEOPLE = {"ann": ["hr"], "ben": ["sales"]}
"""Who can log in, and their groups."""


def create() -> Starlette:
    """Create the issuer of the app that the environment describes."""
    client = f"{os.environ['CHAT_CLIENT_ID']}:{os.environ['CHAT_CLIENT_SECRET']}"
    return FakeIssuer(os.environ["CHAT_ISSUER"], client, os.environ["CHAT_URL"]).app


class FakeIssuer:
    """An issuer at `url` with one client, `ID:SECRET`, which is reached at `client_url`."""

    def __init__(self, url: str, client: str, client_url: str) -> None:
        self.url, self.client, self.client_url = url, client, client_url
        self.rsa = rsa.generate_private_key(65537, 2048)
        self.changes: dict[str, Any] = {}  # what ID tokens say otherwise, for tests
        self._codes = dict[str, Mapping[str, str]]()  # code → what was asked for
        routes = {
            "/.well-known/openid-configuration": self._describe,
            "/keys": self._keys,
            "/authorize": self._authorize,
            "/logout": self._log_out,
        }
        self.app = Starlette(
            routes=[
                *(Route(path, endpoint) for path, endpoint in routes.items()),
                Route("/token", self._exchange, methods=["POST"]),
            ]
        )

    @property
    def described(self) -> dict[str, Any]:
        """The discovery document."""
        places = {"authorization": "authorize", "token": "token", "end_session": "logout"}
        endpoints = {f"{name}_endpoint": f"{self.url}/{path}" for name, path in places.items()}
        return {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **endpoints}

    @property
    def jwks(self) -> dict[str, Any]:
        """The key set."""
        return {"keys": [{**json.loads(RSAAlgorithm.to_jwk(self.rsa.public_key())), "kid": "rsa-1", "use": "sig"}]}

    def claims(self, user: str, **changes: Any) -> dict[str, Any]:
        """Return the claims of a valid token; a change to None leaves a claim out."""
        now = int(time.time())
        valid = {"iss": self.url, "aud": self.client.partition(":")[0], "sub": user, "iat": now, "exp": now + 600}
        return {name: value for name, value in {**valid, **changes}.items() if value is not None}

    async def _describe(self, request: Request) -> Response:
        return JSONResponse(self.described)

    async def _keys(self, request: Request) -> Response:
        return JSONResponse(self.jwks)

    async def _authorize(self, request: Request) -> Response:
        """Ask who logs in, then lead back to the client with a code."""
        asked = dict(request.query_params)
        expected = {
            "client_id": self.client.partition(":")[0],
            "redirect_uri": f"{self.client_url}/callback",
            "response_type": "code",
            "code_challenge_method": "S256",
        }
        wrong = [name for name, value in expected.items() if asked.get(name) != value]
        if wrong := [*wrong, *(name for name in ("state", "nonce", "code_challenge") if not asked.get(name))]:
            return PlainTextResponse(f"wrong or missing: {', '.join(wrong)}", 400)
        if asked.get("login_as") not in PEOPLE:
            links = (
                f'<p><a href="?{escape(urlencode({**asked, "login_as": name}))}">{name}</a> ({", ".join(groups)})</p>'
                for name, groups in PEOPLE.items()
            )
            return HTMLResponse(f"<!doctype html><h1>Log in as</h1>{''.join(links)}<p>For trying it out only.</p>")
        code = secrets.token_urlsafe()
        self._codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}", 303)

    async def _exchange(self, request: Request) -> Response:
        """Give an ID token for a code, once, to the client that asked for it."""
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        asked = self._codes.pop(form.get("code", ""), {})
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        known = f"Basic {base64.b64encode(self.client.encode()).decode()}"
        if request.headers.get("authorization") != known:
            return JSONResponse({"error": "invalid_client"}, 401)
        if challenge != asked.get("code_challenge") or form.get("redirect_uri") != asked["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        user = asked["login_as"]
        claims = self.claims(user, **{"nonce": asked["nonce"], "groups": PEOPLE[user], **self.changes})
        token = jwt.encode(claims, self.rsa, "RS256", headers={"kid": "rsa-1"})
        return JSONResponse({"access_token": secrets.token_urlsafe(), "token_type": "Bearer", "id_token": token})

    async def _log_out(self, request: Request) -> Response:
        """Redirect to the client; this issuer keeps no session."""
        back = request.query_params.get("post_logout_redirect_uri", "")
        if not back.startswith(f"{self.client_url}/"):
            return PlainTextResponse("wrong or missing: post_logout_redirect_uri", 400)
        return RedirectResponse(back, 303)
