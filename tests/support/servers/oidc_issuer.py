"""An OpenID Connect issuer on loopback: its discovery document, its keys, and tokens signed with them."""

import asyncio
import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from support.servers.loopback import LoopbackServer

AUDIENCE = "hopgraph-tests"


class OidcIssuer:
    """An issuer with an RSA and an EC key."""

    def __init__(self) -> None:
        self.rsa, self.ec = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())
        self.names = {"rsa": "rsa-1", "ec": "ec-1"}
        self.asked = list[str]()  # the paths of its requests
        self.described: dict[str, Any] = {}  # what the discovery document says otherwise
        self.fails = False
        self.delay = 0.0  # seconds before each answer
        self._server = LoopbackServer(self._answer)
        self.url = self._server.url

    @property
    def jwks(self) -> dict[str, Any]:
        """The key set as it is served."""
        keys = [RSAAlgorithm.to_jwk(self.rsa.public_key()), ECAlgorithm.to_jwk(self.ec.public_key())]
        # As some issuers do, it says for one key alone what it is for.
        named = [{"kid": self.names["rsa"], "use": "sig"}, {"kid": self.names["ec"], "alg": "ES256"}]
        return {"keys": [{**json.loads(key), **more} for key, more in zip(keys, named, strict=True)]}

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope["path"])
        await asyncio.sleep(self.delay)
        document = {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.described}
        answers = {"/.well-known/openid-configuration": document, "/keys": self.jwks}
        found = None if self.fails else answers.get(scope["path"])
        await JSONResponse(found or {"error": "no"}, 200 if found else 503)(scope, receive, send)

    def claims(self, user: str, **changes: Any) -> dict[str, Any]:
        """Return the claims of a valid token; a change to None leaves a claim out."""
        now = int(time.time())
        valid = {"iss": self.url, "aud": AUDIENCE, "sub": user, "iat": now, "exp": now + 600}
        return {name: value for name, value in {**valid, **changes}.items() if value is not None}

    def token(self, user: str, *, key: str = "rsa", header: Mapping[str, Any] | None = None, **changes: Any) -> str:
        """Return a token, valid unless a claim of it, or of its header, is changed."""
        signed = {"kid": self.names[key], **(header or {})}
        private: Any = self.rsa if key == "rsa" else self.ec
        return jwt.encode(self.claims(user, **changes), private, "RS256" if key == "rsa" else "ES256", headers=signed)


@contextmanager
def oidc_issuer() -> Generator[OidcIssuer]:
    """Serve an issuer until the block ends."""
    issuer = OidcIssuer()
    with issuer._server:  # pyright: ignore[reportPrivateUsage]
        yield issuer
