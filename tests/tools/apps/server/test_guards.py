"""Access, rate and size limits, by plain HTTP against the whole app and a small one."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.guards import RateLimiter, SecurityMiddleware
from hopgraph.tools.apps.server.server_options import ServingOptions, user_from_headers
from support.servers.protocols import chat_request, sent
from support.servers.web_app import WebApp, open_app, without_page

KEYS = {"key-of-ann-0123456789": "ann", "key-of-bob-9876543210": "bob"}
ASK = chat_request("Who painted Guernica?")
COMPLETIONS = "/v1/chat/completions"


@pytest.fixture
async def locked(tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_app(without_page(tmp_path, keys=KEYS)) as opened:
        yield opened


def test_a_public_address_needs_a_key() -> None:
    with pytest.raises(SettingsError, match=r"--host 0\.0\.0\.0: .*HOPGRAPH_API_KEY") as refused:
        ServingOptions(host="0.0.0.0")  # noqa: S104
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", "Basic key-of-ann-0123456789", "Bearer \xff"])
async def test_a_wrong_key_is_refused(locked: WebApp, header: str | None) -> None:
    given = {} if header is None else {"Authorization": header.encode("latin-1")}
    for method, path in (("GET", "/v1/models"), ("POST", COMPLETIONS), ("POST", "/ag-ui"), ("POST", "/mcp")):
        reply = await sent(locked, method, path, headers=given, content=json.dumps(ASK) if method == "POST" else None)
        assert reply.status_code == 401
        assert reply.headers["www-authenticate"] == "Bearer"
        assert reply.json()["error"]["data" if path == "/mcp" else "code"] == "invalid_api_key"
        assert "wrong" not in reply.text.replace("a wrong one", "")
        assert "ann" not in reply.text


async def test_a_valid_key_is_accepted(locked: WebApp) -> None:
    for key in KEYS:
        reply = await sent(locked, "POST", COMPLETIONS, json=ASK, headers={"Authorization": f"bearer {key}"})
        assert reply.json()["hopgraph"]["answer"] == "Pablo Picasso"
        reply = await sent(locked, "POST", COMPLETIONS, json=ASK, headers={"X-Api-Key": key})
        assert reply.json()["hopgraph"]["answer"] == "Pablo Picasso"
    assert (await sent(locked, "GET", "/health")).json()["turns"] == 0


def test_a_key_identifies_its_user() -> None:
    assert user_from_headers("Bearer key-of-bob-9876543210", "", KEYS) == "bob"
    assert user_from_headers("Bearer  key-of-bob-9876543210 ", "", KEYS) == "bob"
    assert user_from_headers("Bearer key-of-bob-987654321", "", KEYS) is None
    assert user_from_headers("Bearer \udcff", "", KEYS) is None
    assert user_from_headers("Bearer x", "", {}) is None
    assert user_from_headers("", "key-of-bob-9876543210", KEYS) == "bob"
    assert user_from_headers("", "", KEYS) is None


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[", ""])
async def test_unknown_host_names_are_refused(app: WebApp, host: str) -> None:
    """This prevents DNS rebinding."""
    reply = await sent(app, "POST", COMPLETIONS, json=ASK, headers={"Host": host})
    assert reply.status_code == 421
    assert reply.json()["error"]["code"] == "wrong_host"
    assert "add it to the server's HOPGRAPH_HOSTS, or use hopgraph chat's --allow-host" in reply.text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:7860", "LOCALHOST:7860"])
async def test_host_names_of_this_machine_are_accepted(app: WebApp, host: str) -> None:
    assert (await sent(app, "GET", "/v1/models", headers={"Host": host})).status_code == 200


async def test_the_host_name_of_a_proxy_is_accepted_if_allowed(tmp_path: Path) -> None:
    async with open_app(without_page(tmp_path, hosts=("chat.example",))) as app:
        assert (await sent(app, "GET", "/v1/models", headers={"Host": "Chat.example"})).status_code == 200
        assert (await sent(app, "GET", "/v1/models", headers={"Host": "other.example"})).status_code == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "file://"])
async def test_requests_from_other_origins_are_refused(app: WebApp, origin: str) -> None:
    """Also for requests without a preflight, such as forms."""
    headers = {"Origin": origin, "Content-Type": "text/plain"}
    reply = await sent(app, "POST", COMPLETIONS, content=json.dumps(ASK), headers=headers)
    assert reply.status_code == 403
    assert reply.json()["error"]["code"] == "wrong_origin"
    assert "add it to the server's HOPGRAPH_ORIGINS, or use hopgraph chat's --allow-origin" in reply.text
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    before = await sent(app, "OPTIONS", COMPLETIONS, headers=asked)
    assert before.status_code == 403
    assert not [name for name in (*reply.headers, *before.headers) if name.startswith("access-control")]


async def test_requests_from_the_apps_and_allowed_origins_are_accepted(tmp_path: Path) -> None:
    ours, theirs = "https://shop.example", "https://evil.example"
    async with open_app(without_page(tmp_path, origins=(ours,), keys=KEYS)) as app:
        asked = {"Origin": ours, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "X-A"}
        before = await sent(app, "OPTIONS", COMPLETIONS, headers=asked)
        assert before.status_code == 200
        assert before.headers["access-control-allow-origin"] == ours
        key = {"Authorization": "Bearer key-of-ann-0123456789"}
        reply = await sent(app, "POST", COMPLETIONS, json=ASK, headers={"Origin": ours, **key})
        assert reply.status_code == 200
        assert reply.headers["access-control-allow-origin"] == ours
        refused = await sent(app, "POST", COMPLETIONS, json=ASK, headers={"Origin": ours})
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == ours  # otherwise the page could not read the reason
        assert (await sent(app, "GET", "/v1/models", headers={"Origin": theirs, **key})).status_code == 403
        assert (await sent(app, "GET", "/v1/models", headers={"Origin": app.url, **key})).status_code == 200


async def test_requests_are_rate_limited_per_user(tmp_path: Path) -> None:
    async with open_app(without_page(tmp_path, keys=KEYS, requests_per_minute=8)) as app:
        ann, bob = ({"Authorization": f"Bearer {key}"} for key in KEYS)
        replies = [await sent(app, "GET", "/v1/models", headers=ann) for _ in range(9)]
        assert [reply.status_code for reply in replies] == [200] * 8 + [429]
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 8
        assert replies[-1].json()["error"]["code"] == "rate_limit_exceeded"
        assert (await sent(app, "GET", "/v1/models", headers=bob)).status_code == 200
        guesses = [await sent(app, "GET", "/v1/models", headers={"Authorization": f"Bearer {n}"}) for n in range(3)]
        assert [reply.status_code for reply in guesses] == [401] * 2 + [
            429
        ]  # a quarter of the limit, in a separate bucket
        assert (await sent(app, "GET", "/health")).status_code == 200


async def test_key_guesses_below_the_page_are_rate_limited(tmp_path: Path) -> None:
    """Static files of the page do not count, as users load them before logging in."""
    options = without_page(tmp_path, keys=KEYS, requests_per_minute=8)
    async with open_app(options) as app, httpx.AsyncClient(base_url=app.url) as client:
        path = "/chat/gradio_api/info"
        assert {(await client.get(path)).status_code for _ in range(20)} == {401}
        for header in ("Authorization", "X-Api-Key"):
            tried = [(await client.get(path, headers={header: f"Bearer guess-{n}"})).status_code for n in range(20)]
            assert 429 in tried


def test_rate_limit_buckets_refill_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("hopgraph.tools.apps.server.guards.time.monotonic", lambda: now[0])
    rates = RateLimiter(60)
    assert [rates.wait("ann") for _ in range(61)] == [0.0] * 60 + [1.0]
    now[0] += 2.5
    assert [rates.wait("ann") for _ in range(3)] == [0.0, 0.0, 0.5]
    for number in range(20_000):
        rates.wait(f"at 10.0.{number // 256}.{number % 256}")
    assert len(rates._buckets) == 10_000  # pyright: ignore[reportPrivateUsage]


async def pieces(size: int, between: bytes = b"") -> AsyncIterator[bytes]:
    for _ in range(size // 50_000):
        yield between + b"x" * 50_000


async def test_too_large_bodies_are_refused_even_if_chunked(app: WebApp) -> None:
    whole = await sent(app, "POST", COMPLETIONS, content=b"x" * 3_000_000)
    chunked = await sent(app, "POST", COMPLETIONS, content=pieces(3_000_000))
    for reply in (whole, chunked):
        assert reply.status_code == 413
        assert "2,000,000 bytes" in reply.json()["error"]["message"]
    assert (await sent(app, "POST", COMPLETIONS, content=pieces(1_000_000))).status_code == 400  # not JSON


async def test_an_endless_body_times_out(app: WebApp) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 100_000

    async with httpx.AsyncClient(timeout=60) as client:
        try:
            reply = await client.post(f"{app.url}{COMPLETIONS}", content=endless())
        except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):  # closed under the client
            return
        assert reply.status_code == 413


async def test_replies_hide_the_server_and_set_security_headers(app: WebApp) -> None:
    for path in ("/v1/models", "/health", "/nowhere"):
        reply = await sent(app, "GET", path)
        assert "server" not in reply.headers
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'self'" in reply.headers["content-security-policy"]


async def test_one_line_without_content_is_logged_per_request(locked: WebApp, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="hopgraph.access")
    key = {"Authorization": "Bearer key-of-ann-0123456789"}
    await sent(locked, "POST", COMPLETIONS, json=ASK, headers=key)
    await sent(locked, "POST", f"{COMPLETIONS}?secret=1", json=ASK)
    await sent(locked, "GET", "/chat/file=/home/ann/letter.pdf%0AGET /forged", headers=key)
    lines = [record.getMessage() for record in caplog.records if record.name == "hopgraph.access"]
    assert [line.split(" ms ")[1].split()[0] for line in lines] == ["ann", "-", "ann"]
    assert [line.split()[:3] for line in lines] == [
        ["POST", COMPLETIONS, "200"],
        ["POST", COMPLETIONS, "401"],
        ["GET", "/chat/file", "404"],
    ]
    assert not [word for word in ("Guernica", "secret", "letter", "forged", "0123456789") if word in caplog.text]


def scope(path: str, client: str = "127.0.0.1", kind: str = "http", **headers: str) -> Scope:
    given = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
    return {"type": kind, "method": "GET", "path": path, "headers": given, "client": (client, 1), "query_string": b""}


async def passed(guards: SecurityMiddleware, asked: Scope) -> list[Message]:
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    await guards(asked, receive, send)
    return messages


@pytest.mark.slow
async def test_too_large_chunked_bodies_to_the_page_are_refused(tmp_path: Path) -> None:
    """There a mounted app handles the error first."""
    opened = ServingOptions(threads=tmp_path / "threads.sqlite", max_upload_bytes=200_000)
    begun = b'\r\n--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
    async with open_app(opened) as app:
        for path, kind, between, most in (
            ("/chat/gradio_api/upload", "multipart/form-data; boundary=x", begun, "300,000"),
            ("/chat/gradio_api/queue/join", "application/json", b"", "2,000,000"),
        ):
            kinds = {"Content-Type": kind}
            reply = await sent(app, "POST", path, content=pieces(3_000_000, between), headers=kinds)
            assert reply.status_code == 413, path
            assert reply.json()["error"]["code"] == "request_too_large"
            assert f"{most} bytes" in reply.json()["detail"]


async def test_other_errors_are_not_reported_as_a_too_large_body() -> None:
    async def failing(asked: Scope, receive: Receive, send: Send) -> None:
        await receive()
        raise ValueError("it is broken")

    with pytest.raises(ValueError, match="it is broken"):
        await passed(SecurityMiddleware(failing, ServingOptions()), scope("/v1/x"))


async def inner(asked: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def test_other_machines_need_a_key() -> None:
    """For example under a LangGraph server, which may listen on any address."""
    guards = SecurityMiddleware(inner, ServingOptions(), ("/v1", "/chat"))
    assert (await passed(guards, scope("/v1/models")))[0]["status"] == 204
    assert (await passed(guards, scope("/v1/models", client="192.0.2.7")))[0]["status"] == 403
    assert (await passed(guards, scope("/chat", client="192.0.2.7")))[0]["status"] == 403
    assert (await passed(guards, scope("/threads", client="192.0.2.7")))[0]["status"] == 204
    assert (await passed(guards, scope("/v10", client="192.0.2.7", host="evil.example")))[0]["status"] == 204
    with_keys = SecurityMiddleware(inner, ServingOptions(keys=KEYS, host="0.0.0.0"))  # noqa: S104
    key = "Bearer key-of-ann-0123456789"
    other = scope("/v1/models", client="192.0.2.7", host="chat.example", authorization=key)
    assert (await passed(with_keys, other))[0]["status"] == 204
    assert other["state"]["user"] == "ann"


async def test_inside_another_server_keys_are_required_and_any_host_name_accepted() -> None:
    key = "Bearer key-of-ann-0123456789"
    options = ServingOptions(keys=KEYS)
    named = scope("/v1/models", client="192.0.2.7", host="chat.example", authorization=key)
    unknown = scope("/v1/models", client="192.0.2.7", host="chat.example")
    inside = SecurityMiddleware(inner, options, ("/v1",))
    assert (await passed(inside, named))[0]["status"] == 204
    assert (await passed(inside, unknown))[0]["status"] == 401
    assert (await passed(SecurityMiddleware(inner, options), named))[0]["status"] == 421
    with_names = SecurityMiddleware(inner, ServingOptions(keys=KEYS, hosts=("other.example",)), ("/v1",))
    assert (await passed(with_names, named))[0]["status"] == 421


async def test_web_sockets_are_refused() -> None:
    closed = await passed(SecurityMiddleware(inner, ServingOptions()), scope("/chat/ws", kind="websocket"))
    assert closed == [{"type": "websocket.close", "code": 1008}]


def test_setting_back_the_clock_allows_no_more_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = RateLimiter(2)
    assert [rates.wait("ann") for _ in range(2)] == [0.0, 0.0]
    monkeypatch.setattr("hopgraph.tools.apps.server.guards.time.time", lambda: 0.0)
    assert rates.wait("ann") > 0
