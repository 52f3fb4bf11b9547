"""An OpenID Connect issuer on loopback: the example's, with a second key and with faults."""

import asyncio
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from fake_issuer import FakeIssuer
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from support.servers.loopback import LoopbackServer

AUDIENCE = "hopgraph-tests"


class OidcIssuer(FakeIssuer):
    """An issuer with an RSA and an EC key."""

    def __init__(self, client_url: str = "") -> None:
        self._server = LoopbackServer(self._answer)
        super().__init__(self._server.url, f"{AUDIENCE}:secret-of-the-tests", client_url)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.names = {"rsa": "rsa-1", "ec": "ec-1"}
        self.asked = list[str]()  # the paths of its requests
        self.other: dict[str, Any] = {}  # overrides of the discovery document
        self.fails = False
        self.delay = 0.0  # seconds before each answer

    @property
    def described(self) -> dict[str, Any]:
        """The discovery document."""
        return {**super().described, **self.other}

    @property
    def jwks(self) -> dict[str, Any]:
        """The key set as it is served."""
        keys = [RSAAlgorithm.to_jwk(self.rsa.public_key()), ECAlgorithm.to_jwk(self.ec.public_key())]
        # Like some issuers, it states the use of only one key.
        named = [{"kid": self.names["rsa"], "use": "sig"}, {"kid": self.names["ec"], "alg": "ES256"}]
        return {"keys": [{**json.loads(key), **more} for key, more in zip(keys, named, strict=True)]}

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope["path"])
        await asyncio.sleep(self.delay)
        await (JSONResponse({"error": "no"}, 503) if self.fails else self.app)(scope, receive, send)

    def token(self, user: str, *, key: str = "rsa", header: Mapping[str, Any] | None = None, **changes: Any) -> str:
        """Return a token, valid unless a claim or header field is overridden."""
        signed = {"kid": self.names[key], **(header or {})}
        private: Any = self.rsa if key == "rsa" else self.ec
        return jwt.encode(self.claims(user, **changes), private, "RS256" if key == "rsa" else "ES256", headers=signed)


@contextmanager
def oidc_issuer(client_url: str = "") -> Generator[OidcIssuer]:
    """Serve an issuer until the block ends."""
    issuer = OidcIssuer(client_url)
    with issuer._server:  # pyright: ignore[reportPrivateUsage]
        yield issuer
