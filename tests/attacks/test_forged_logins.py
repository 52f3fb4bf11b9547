"""Whoever forges a log-in gets one line, and the server's log has nothing of what they sent."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.requests import HTTPConnection

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server import oidc
from hopgraph.tools.apps.server.identity import HeaderUsers, LoginError, user_of_from_environment
from hopgraph.tools.apps.server.oidc import OidcUsers
from support.servers.oidc_issuer import AUDIENCE, OidcIssuer, oidc_issuer
from support.servers.web_app import WebApp, open_app, without_page
from support.waiting import until

ANN = "key-of-ann-0123456789"


@pytest.fixture
def issuer() -> Iterator[OidcIssuer]:
    with oidc_issuer() as opened:
        yield opened


@pytest.fixture
async def app(issuer: OidcIssuer, tmp_path: Path) -> AsyncIterator[WebApp]:
    users = OidcUsers(issuer.url, AUDIENCE)
    async with open_app(without_page(tmp_path, user_of=users, keys={ANN: "ann"})) as opened:
        yield opened


async def models(app: WebApp, token: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=60) as client:
        return await client.get(f"{app.base_url}/models", headers={"Authorization": f"Bearer {token}"})


def encode(part: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def signed_with_the_public_key(issuer: OidcIssuer) -> str:
    """Sign with the issuer's public key, as if it were a secret that both share; PyJWT refuses to make this token."""
    public = issuer.rsa.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = f"{encode({'alg': 'HS256', 'typ': 'JWT', 'kid': 'rsa-1'})}.{encode(issuer.claims('ann'))}"
    mark = base64.urlsafe_b64encode(hmac.digest(public, head.encode(), hashlib.sha256)).rstrip(b"=").decode()
    return f"{head}.{mark}"


_strangers_key = cache(lambda: rsa.generate_private_key(65537, 2048))


def of_a_stranger(issuer: OidcIssuer, **header: Any) -> str:
    return jwt.encode(issuer.claims("ann"), _strangers_key(), "RS256", headers={"kid": "rsa-1", **header})


def changed(issuer: OidcIssuer) -> str:
    head, _, mark = issuer.token("ann").split(".")
    return f"{head}.{encode(issuer.claims('ben'))}.{mark}"


FORGED: dict[str, tuple[Callable[[OidcIssuer], str], str]] = {
    "no signature": (lambda issuer: jwt.encode(issuer.claims("ann"), "", "none"), "accepted algorithm"),
    "the public key as a secret": (signed_with_the_public_key, "accepted algorithm"),
    "a key of its own": (of_a_stranger, "is not valid"),
    "a key in its own header": (lambda issuer: of_a_stranger(issuer, jwk={"kty": "oct", "k": "AA"}), "is not valid"),
    "a key at its own address": (lambda issuer: of_a_stranger(issuer, jku="https://evil.example"), "is not valid"),
    "other claims": (changed, "is not valid"),
    "an unknown key": (lambda issuer: issuer.token("ann", header={"kid": "other"}), "unknown to its issuer"),
    "no name of a key": (lambda issuer: jwt.encode(issuer.claims("ann"), issuer.rsa, "RS256"), "unknown to its issuer"),
    "another algorithm than the key's": (
        lambda issuer: jwt.encode(issuer.claims("ann"), issuer.rsa, "RS256", headers={"kid": "ec-1"}),
        "accepted algorithm",
    ),
    "another issuer": (lambda issuer: issuer.token("ann", iss="https://evil.example"), "another issuer"),
    "another audience": (lambda issuer: issuer.token("ann", aud="another-app"), "another audience"),
    "no audience": (lambda issuer: issuer.token("ann", aud=None), "lacks one of the claims"),
    "expired": (lambda issuer: issuer.token("ann", exp=1_700_000_000), "has expired"),
    "no end": (lambda issuer: issuer.token("ann", exp=None), "lacks one of the claims"),
    "not begun": (lambda issuer: issuer.token("ann", nbf=9_999_999_999), "is not valid yet"),
    "issued in the future": (lambda issuer: issuer.token("ann", iat=9_999_999_999), "is not valid yet"),
    "no user": (lambda issuer: issuer.token("ann", sub=None), "lacks one of the claims"),
    "no text for a user": (lambda issuer: issuer.token("ann", sub=7), "is not valid"),
    "no token": (lambda issuer: "not-a-token-0123456789", "is not valid"),
    "three empty parts": (lambda issuer: "..", "is not valid"),
}


async def test_a_forged_token_is_refused_in_one_line(
    app: WebApp, issuer: OidcIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for kind, (forge, said) in FORGED.items():
        token = forge(issuer)
        reply = await models(app, token)
        assert reply.status_code == 401, kind
        assert said in reply.json()["error"]["message"], kind
        assert "\n" not in reply.json()["error"]["message"], kind
        assert not [each for each in caplog.records if each.exc_info], kind
        assert not [part for part in token.split(".") if len(part) > 8 and part in caplog.text + reply.text], kind


@pytest.mark.parametrize("key", ["rsa", "ec"])
async def test_a_valid_token_is_its_users(key: str, app: WebApp, issuer: OidcIssuer) -> None:
    """Beside a key, and for all users the issuer is asked once."""
    for user in ("ann", "auth0|5f7c1ae6"):
        assert (await models(app, issuer.token(user, key=key))).status_code == 200
    assert (await models(app, ANN)).status_code == 200
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


async def test_an_issuer_that_is_not_reached(
    app: WebApp, issuer: OidcIssuer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not asked for each request; keys of users hold, and once it answers all is well."""
    issuer.fails = True
    for _ in range(5):
        reply = await models(app, issuer.token("ann"))
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "log_in_unavailable")
    assert len(issuer.asked) == 1
    assert [each.exc_info for each in caplog.records if "OIDC issuer" in each.getMessage()] == [None]
    assert (await models(app, ANN)).status_code == 200
    issuer.fails = False
    monkeypatch.setattr(oidc, "_PAUSE", 0.0)
    assert (await models(app, issuer.token("ann"))).status_code == 200


async def test_keys_that_are_replaced(issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token with a new key has the keys fetched again, and many with unknown ones at most once in a while."""
    users = OidcUsers(issuer.url, AUDIENCE)
    assert await users.user_of_token(issuer.token("ann")) == "ann"
    issuer.names["rsa"] = "rsa-2"
    monkeypatch.setattr(oidc, "_PAUSE", 0.0)
    assert await users.user_of_token(issuer.token("ann")) == "ann"
    monkeypatch.setattr(oidc, "_PAUSE", 30.0)
    before = len(issuer.asked)
    for number in range(20):
        with pytest.raises(LoginError, match="unknown to its issuer"):
            await users.user_of_token(issuer.token("ann", header={"kid": f"unknown-{number}"}))
    assert len(issuer.asked) == before


async def test_known_users_do_not_wait_while_keys_are_fetched(
    issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's token with an unknown key has them fetched, from an issuer that takes its time."""
    users = OidcUsers(issuer.url, AUDIENCE)
    assert await users.user_of_token(issuer.token("ann")) == "ann"
    monkeypatch.setattr(oidc, "_PAUSE", 0.0)
    issuer.delay, asked = 2.0, len(issuer.asked)
    fetching = asyncio.create_task(users.user_of_token(issuer.token("eve", header={"kid": "unknown"})))
    await until(lambda: len(issuer.asked) > asked)
    assert await users.user_of_token(issuer.token("ann")) == "ann"
    assert not fetching.done()
    with pytest.raises(LoginError, match="unknown to its issuer"):
        await fetching


@pytest.mark.parametrize("fails", [False, True])
async def test_known_users_do_not_wait_for_newer_keys(
    fails: bool, issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an hour the issuer is asked meanwhile, whether it answers or not."""
    users = OidcUsers(issuer.url, AUDIENCE)
    assert await users.user_of_token(issuer.token("ann")) == "ann"
    monkeypatch.setattr(oidc, "_FRESH", 0.0)
    monkeypatch.setattr(oidc, "_PAUSE", 0.0)
    issuer.delay, issuer.fails, asked = 0.5, fails, len(issuer.asked)
    for _ in range(5):
        assert await users.user_of_token(issuer.token("ann")) == "ann"
        assert len(issuer.asked) == asked
    await until(lambda: len(issuer.asked) > asked)
    assert await users.user_of_token(issuer.token("ann")) == "ann"


async def test_a_discovery_document_of_another_issuer(issuer: OidcIssuer) -> None:
    for described in ({"issuer": "https://evil.example"}, {"jwks_uri": "http://evil.example/keys"}):
        issuer.other = described
        reply = await asyncio.gather(OidcUsers(issuer.url, AUDIENCE).user_of_token("a.b.c"), return_exceptions=True)
        assert isinstance(reply[0], LoginError)  # not even a header can be read
        with pytest.raises(Exception, match="cannot be fetched"):
            await OidcUsers(issuer.url, AUDIENCE).user_of_token(issuer.token("ann"))


async def test_keys_in_a_file_and_another_claim(issuer: OidcIssuer, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(issuer.jwks))
    users = OidcUsers(issuer.url, AUDIENCE, str(file), "email")
    assert await users.user_of_token(issuer.token("7", email="ann@example.org")) == "ann@example.org"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "no claim 'email'"),
        ({"email": "ann@x.org", "email_verified": False}, "not verified"),
        ({"email": "ann@x.org", "email_verified": "false"}, "not verified"),
    ]
    for claims, said in wrong:
        with pytest.raises(LoginError, match=said):
            await users.user_of_token(issuer.token("7", **claims))
    assert issuer.asked == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"issuer": "http://login.example.org", "audience": "a"}, "use https"),
        ({"issuer": "login.example.org", "audience": "a"}, "is not an address"),
        ({"issuer": "https://login.example.org", "audience": "a", "algorithms": ["HS256"]}, "'HS256' is not accepted"),
        ({"issuer": "https://login.example.org", "audience": "a", "algorithms": ["none"]}, "'none' is not accepted"),
    ],
)
def test_settings_under_which_tokens_could_be_forged(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        OidcUsers(**given)


def connection(peer: str, *values: str, name: str = "X-Forwarded-User") -> HTTPConnection:
    headers = [(name.lower().encode(), value.encode()) for value in values]
    return HTTPConnection({"type": "http", "headers": headers, "client": (peer, 1)})


def test_a_header_counts_from_the_proxy_alone() -> None:
    users = HeaderUsers("X-Forwarded-User", ("10.1.0.0/16", "fd00::1"))
    assert users(connection("10.1.2.3", "ann")) == "ann"
    assert users(connection("::ffff:10.1.2.3", "ann")) == "ann"
    assert users(connection("fd00::1", "ann")) == "ann"
    for peer in ("10.2.0.1", "127.0.0.1", "::1", "fd00::2", "", "unix"):
        assert users(connection(peer, "ann")) is None
    assert users(connection("10.1.2.3")) is None
    assert users(connection("10.1.2.3", " ")) is None
    with pytest.raises(LoginError, match="more than once"):
        users(connection("10.1.2.3", "ann", "ben"))


@pytest.mark.parametrize("proxies", [("10.1.0.0/16",), ("127.0.0.1",)])
async def test_a_forged_header_is_a_strangers(tmp_path: Path, proxies: tuple[str, ...]) -> None:
    """Nor does a client become the proxy by naming its address, or stop being it by naming another one."""
    options = without_page(tmp_path, user_of=HeaderUsers("X-Forwarded-User", proxies), proxies=proxies)
    async with open_app(options) as app, httpx.AsyncClient(timeout=60) as client:
        for more in ({}, {"X-Forwarded-For": "10.1.0.1"}, {"X-Forwarded-For": "192.0.2.7"}):
            sent = {"X-Forwarded-User": "ann", **more}
            reply = await client.get(f"{app.base_url}/models", headers=sent)
            assert reply.status_code == (200 if proxies == ("127.0.0.1",) else 401)


async def test_a_function_that_fails_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(connection: HTTPConnection) -> str:
        raise RuntimeError(connection.headers["authorization"])

    async with open_app(without_page(tmp_path, user_of=fail)) as app:
        reply = await models(app, "secret-of-ann-0123456789")
    assert (reply.status_code, reply.json()["error"]["code"]) == (500, "user_of_failed")
    assert "user_of failed: RuntimeError at test_forged_logins.py" in caplog.text
    assert "secret-of-ann" not in caplog.text + reply.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"HOPGRAPH_USER_HEADER": "X-User"}, "name the proxy that sets it in HOPGRAPH_PROXIES"),
        ({"HOPGRAPH_USER_HEADER": "X User"}, "is not a header name"),
        ({"HOPGRAPH_OIDC_ISSUER": "https://login.example.org"}, "HOPGRAPH_OIDC_AUDIENCE: set it"),
        ({"HOPGRAPH_USER_OF": "nothing"}, "write MODULE:FUNCTION"),
        ({"HOPGRAPH_USER_OF": "os:sep"}, "is str, which cannot be called"),
        ({"HOPGRAPH_USER_OF": "os:getcwd", "HOPGRAPH_USER_HEADER": "X-User"}, "by one of them"),
    ],
)
def test_a_log_in_that_is_not_whole_is_refused_at_the_start(
    environment: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=said):
        user_of_from_environment(())


def test_the_environment_names_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_of_from_environment(()) is None
    monkeypatch.setenv("HOPGRAPH_OIDC_ISSUER", "https://login.example.org")
    monkeypatch.setenv("HOPGRAPH_OIDC_AUDIENCE", "hopgraph")
    monkeypatch.setenv("HOPGRAPH_OIDC_CLAIM", "email")
    assert user_of_from_environment(()) == OidcUsers("https://login.example.org", "hopgraph", claim="email")
    monkeypatch.delenv("HOPGRAPH_OIDC_ISSUER")
    monkeypatch.setenv("HOPGRAPH_USER_HEADER", "X-User")
    assert user_of_from_environment(("10.0.0.1",)) == HeaderUsers("X-User", ("10.0.0.1",))
