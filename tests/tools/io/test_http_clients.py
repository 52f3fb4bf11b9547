"""Which proxy and which certificates an address is reached with."""

from pathlib import Path

import httpx
import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.io.http_clients import client_options, find_proxy, read_address
from hopgraph.tools.io.http_retries import describe_unreachable, retry_after

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUEST_METHOD")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_without_variables_there_is_none() -> None:
    assert find_proxy("https://api.example.org/v1") is None


@pytest.mark.parametrize(
    ("address", "proxy"),
    [
        ("http://one.example.org", "http://plain:1"),
        ("https://one.example.org", "http://ann:pw@encrypted:2"),
    ],
)
def test_it_is_the_one_of_the_scheme(address: str, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "plain:1")
    monkeypatch.setenv("https_proxy", " http://ann:pw@encrypted:2 ")
    monkeypatch.setenv("ALL_PROXY", "http://all:3")
    assert find_proxy(address) == proxy
    monkeypatch.setenv("MINE", "http://mine:4")
    assert find_proxy(address, "MINE") == "http://mine:4"


@pytest.mark.parametrize(
    ("excluded", "address", "through"),
    [
        ("*", "http://127.0.0.1:80", False),
        ("localhost,127.0.0.1", "http://localhost:8000/v1", False),
        ("localhost , 127.0.0.1 ", "http://127.0.0.1:8000/v1", False),
        ("127.0.0.1", "http://localhost:8000", True),
        ("127.0.0.1:8000", "http://127.0.0.1:8000", False),
        ("127.0.0.1:8000", "http://127.0.0.1:8001", True),
        ("example.org:80", "http://example.org", False),
        ("10.0.0.0/8", "http://10.2.3.4", False),
        ("10.0.0.0/8", "http://11.2.3.4", True),
        ("::1", "http://[::1]:8000", False),
        ("[::1]", "http://[::1]:8000", False),
        ("fd00::/8", "http://[fd00::7]", False),
        ("example.org", "http://api.example.org", False),
        (".example.org", "http://api.example.org", False),
        ("*.example.org", "http://api.EXAMPLE.org", False),
        ("example.org", "http://badexample.org", True),
        ("", "http://127.0.0.1", True),
        ("a/b, ,:,]", "http://127.0.0.1", True),
        ("localhost 127.0.0.1", "http://127.0.0.1", False),
        ("127.0.0.*", "http://127.0.0.1", False),
        ("192.168.*", "http://127.0.0.1", True),
    ],
)
def test_no_proxy_names_hosts_domains_and_networks(
    excluded: str, address: str, through: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:1")
    monkeypatch.setenv("NO_PROXY", excluded)
    assert find_proxy(address) == ("http://proxy:1" if through else None)


@pytest.mark.parametrize(
    ("proxy", "advice"),
    [
        ("socks://h:1080/", "socks5://h:1080"),
        ("socks4://h:1080", "socks5://h:1080"),
        ("socks5h://h:1080", "pip install socksio"),
        ("http://", "http://HOST:PORT"),
        ("http://h:port", "http://HOST:PORT"),
        ("http://h:99999", "http://HOST:PORT"),
        ("http://[::1", "http://HOST:PORT"),
    ],
)
def test_one_that_cannot_be_used_is_named_with_its_variable(
    proxy: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(SettingsError) as caught:
        find_proxy("https://api.example.org")
    said = str(caught.value)
    assert said.startswith(f"HTTPS_PROXY={proxy}: ")
    assert advice in said
    assert "NO_PROXY=api.example.org" in said
    assert find_proxy("http://api.example.org") is None


@pytest.mark.parametrize("login", ["ann:very-secret", "ann:very-se@secret", "ann:x@very-secret"])
def test_the_log_in_of_a_proxy_is_not_shown(login: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", f"socks://{login}@h:1")
    with pytest.raises(SettingsError) as caught:
        find_proxy("http://127.0.0.1")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("end", ["", "/", "//", "/chat/completions", "/chat/completions/", "/models", "#x"])
@pytest.mark.parametrize("query", ["", "?api-version=1"])
def test_an_address_is_read_without_the_path_of_an_endpoint(end: str, query: str) -> None:
    path, _, fragment = end.partition("#")
    given = f"http://h:1/v1{path}{query}" + (f"#{fragment}" if fragment else "")
    assert read_address(given) == f"http://h:1/v1{query}"


def test_a_server_that_a_proxy_hides_is_told_with_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe_unreachable(OSError(), "http://h:1/v1") == "cannot reach http://h:1/v1; is the server running?"
    monkeypatch.setenv("HTTP_PROXY", "http://ann:secret@p:9")
    said = describe_unreachable(OSError(), "http://h:1/v1")
    assert "by the proxy of HTTP_PROXY=http://ann:[key]@p:9" in said
    assert "NO_PROXY=h" in said


@pytest.mark.parametrize(
    ("headers", "said", "seconds"),
    [
        ({"retry-after": "2"}, "", 2),
        ({"retry-after": "1.5s"}, "", 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, "", 0),
        ({"retry-after": "inf"}, "", None),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after-ms": "1200", "retry-after": "9"}, "", 1.2),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m3.5s"}, "", 63.5),
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "1m3.5s"}, "", None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, "", 0.02),
        ({"x-ratelimit-reset": "1000000001"}, "", 0),
        ({"x-ratelimit-reset": "99999999999999"}, "", 30 * 86_400),
        ({}, "Rate limit reached. Please try again in 7m12.5s.", 432.5),
        ({}, "Please retry after 33 seconds.", 33),
        ({}, '{"retryDelay": "1.3s"}', 1.3),
        ({}, "Slow down", None),
    ],
)
def test_a_wait_is_read_in_any_form(headers: dict[str, str], said: str, seconds: float | None) -> None:
    response = httpx.Response(429, headers=headers, request=httpx.Request("GET", "http://h"))
    asked = retry_after(httpx.HTTPStatusError(said, request=response.request, response=response))
    assert asked == (seconds if seconds is None else pytest.approx(seconds))


def test_certificates_that_cannot_be_read_matter_only_where_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty.pem").touch()
    for name in ("missing.pem", "empty.pem"):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / name))
        assert client_options("http://127.0.0.1")["proxy"] is None
        with pytest.raises(SettingsError, match=f"SSL_CERT_FILE=.*{name}"):
            client_options("https://127.0.0.1")
    monkeypatch.setenv("HTTP_PROXY", "https://127.0.0.1:1")
    with pytest.raises(SettingsError, match="SSL_CERT_FILE"):
        client_options("http://127.0.0.1")
