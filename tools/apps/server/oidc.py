"""Users identified by OpenID Connect tokens: JWTs as `Authorization: Bearer`, verified with PyJWT (extra `oidc`).

The issuer's public keys come from its discovery document, or from the URL or file of a JWK set. They are fetched when
first needed, refreshed in the background after an hour, and fetched again if a token names an unknown key, at most
twice a minute. If fetching fails, known keys are used for a day. Only tokens with an unknown key wait for a fetch.
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from hopgraph.state import HopgraphError, SettingsError
from hopgraph.tools.apps.server.identity import LoginError, LoginUnavailableError
from hopgraph.tools.apps.server.server_options import is_loopback
from hopgraph.tools.io.json_server import JsonServer
from hopgraph.tools.io.optional_packages import require

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LEEWAY = 30  # seconds of clock skew
_FETCH_SECONDS, _LARGEST = 5.0, 1_000_000
_FRESH, _USABLE, _PAUSE = 3600.0, 24 * 3600.0, 30.0
"""Seconds until keys are fetched again, until they expire, and between two attempts to fetch them."""
_REASONS = {
    "ExpiredSignatureError": "the token has expired; log in again",
    "ImmatureSignatureError": "the token is not valid yet",
    "InvalidAudienceError": "the token was issued for another audience",
    "InvalidIssuerError": "the token was issued by another issuer",
    "InvalidAlgorithmError": "the token is not signed with an accepted algorithm",
    "MissingRequiredClaimError": "the token lacks one of the claims exp, iat, iss, aud and sub",
}
_log = logging.getLogger(__name__)

Jwk = Mapping[str, Any]


@dataclass
class OidcUsers:
    """A `user_of` by the tokens of one issuer.

    A SpecError if PyJWT is missing; a SettingsError for an unencrypted address other than this machine's, or a
    symmetric algorithm.
    """

    issuer: str
    audience: str
    keys: str = ""
    """The URL or file of the JWK set; empty: from the issuer's discovery document."""
    claim: str = "sub"
    """The claim with the user's name; some issuers reassign `email` and `preferred_username`."""
    algorithms: Sequence[str] = ALGORITHMS
    _known: Sequence[Jwk] = field(default=(), init=False, repr=False, compare=False)
    _fetched: float = field(default=float("-inf"), init=False, repr=False, compare=False)
    _tried: float = field(default=float("-inf"), init=False, repr=False, compare=False)
    _fetching: asyncio.Task[None] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._jwt = require("jwt", "oidc")
        require("cryptography", "oidc")
        if refused := sorted(set(self.algorithms) - set(ALGORITHMS)):
            raise SettingsError(
                f"OIDC algorithm {refused[0]!r:.40} is not accepted; use some of {', '.join(ALGORITHMS)}"
            )
        for address in filter(_is_address, (self.issuer, self.keys)):
            _check_encrypted(address)
        if not _is_address(self.issuer):
            raise SettingsError(f"OIDC issuer {self.issuer!r:.80} is not an address such as https://login.example.org")

    async def __call__(self, connection: HTTPConnection) -> str | None:
        """Return the user named by the request's token; None without a token; a LoginError if it is invalid."""
        scheme, _, token = connection.headers.get("authorization", "").partition(" ")
        return await self.user_of_token(token.strip()) if scheme.lower() == "bearer" and token.strip() else None

    async def user_of_token(self, token: str) -> str:
        """Return the user named by a token; a LoginError if it is invalid, a LoginUnavailableError without keys."""
        try:
            key = await self._find_key(self._jwt.get_unverified_header(token))
            claims: Mapping[str, Any] = self._jwt.decode(
                token,
                key,
                algorithms=list(self.algorithms),
                audience=self.audience,
                issuer=self.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except self._jwt.PyJWTError as error:
            kinds = [each.__name__ for each in type(error).__mro__]
            raise LoginError(
                next((_REASONS[each] for each in kinds if each in _REASONS), "the token is not valid")
            ) from None
        name = claims.get(self.claim)
        if not isinstance(name, str) or not name:
            raise LoginError(f"the token has no claim {self.claim!r}")
        if self.claim == "email" and str(claims.get("email_verified", True)).lower() != "true":
            raise LoginError("the e-mail address of this token is not verified")
        return name

    async def _find_key(self, header: Mapping[str, Any]) -> Any:
        """Return the key that a token's header names, bound to its algorithm."""
        algorithm, name = header.get("alg"), header.get("kid")
        if algorithm not in self.algorithms:
            raise LoginError(_REASONS["InvalidAlgorithmError"])
        if time.monotonic() - self._fetched > _FRESH:
            self._refresh()
        found = self._choose(name)
        if found is None:
            await asyncio.shield(self._refresh())  # others may wait for it, too
            found = self._choose(name)
        if time.monotonic() - self._fetched > _USABLE:
            raise LoginUnavailableError("the issuer's keys cannot be fetched; try again in a minute")
        if found is None:
            raise LoginError("the token is signed with a key unknown to its issuer")
        return self._jwt.PyJWK(found, algorithm=found.get("alg", algorithm))

    def _choose(self, name: object) -> Jwk | None:
        """Return the key with a name, or without a name the only key; None if there is none or keys are too old."""
        known = self._known if time.monotonic() - self._fetched <= _USABLE else ()
        found = [each for each in known if name is None or each.get("kid") == name]
        return found[0] if len(found) == 1 else None

    def _refresh(self) -> asyncio.Task[None]:
        """Return the current or last fetch of the keys; start a new one if that was a while ago."""
        now = time.monotonic()
        if self._fetching is None or (self._fetching.done() and now - self._tried > _PAUSE):
            self._tried, self._fetching = now, asyncio.create_task(self._load())
        return self._fetching

    async def _load(self) -> None:
        try:
            self._known, self._fetched = await self._fetch(), time.monotonic()
        except HopgraphError as error:
            _log.warning("the keys of the OIDC issuer cannot be fetched: %s", error)

    async def _fetch(self) -> Sequence[Jwk]:
        if self.keys and not _is_address(self.keys):
            return await asyncio.to_thread(_read_keys, Path(self.keys))
        address = self.keys
        if not address:
            described = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
            address = await _server(described).request("GET", self._jwks_address)
        return await _server(address).request("GET", _parse_keys)

    def _jwks_address(self, document: Any) -> str:
        if document["issuer"] != self.issuer:
            raise ValueError(f"its issuer is not {self.issuer!r:.200}")
        return _check_encrypted(str(document["jwks_uri"]))


def _server(address: str) -> JsonServer:
    return JsonServer(address, error=LoginUnavailableError, seconds=_FETCH_SECONDS, retries=0, largest=_LARGEST)


def _is_address(text: str) -> bool:
    return "://" in text


def _check_encrypted(address: str) -> str:
    """Return an address; a SettingsError unless it is https or local, as keys could be replaced on the way."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise SettingsError(f"OIDC address {address!r:.200}: use https")
    return address


def _read_keys(path: Path) -> Sequence[Jwk]:
    try:
        return _parse_keys(json.loads(path.read_bytes()))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise LoginUnavailableError(f"{path}: cannot read a JWK set ({type(error).__name__})") from None


def _parse_keys(document: Any) -> Sequence[Jwk]:
    """Return a JWK set's public signature keys; a ValueError if it has none."""
    keys = [cast("Jwk", each) for each in document["keys"] if isinstance(each, dict)]
    usable = [each for each in keys if each.get("kty") in ("RSA", "EC", "OKP") and each.get("use", "sig") == "sig"]
    if not usable:
        raise ValueError("it has no public signature key")
    return usable
