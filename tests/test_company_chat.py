"""The example of a company's chat: people of two groups in a browser, forged log-ins, and its compose file."""

import asyncio
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import company_chat
import fake_issuer
import httpx
import itsdangerous
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import FastAPI
from starlette.testclient import TestClient

from support.paths import ROOT
from support.servers.browsing import Chat, chromium_browser
from support.servers.oidc_issuer import AUDIENCE, OidcIssuer, oidc_issuer
from support.servers.postgres import postgres_server
from support.servers.web_app import WebApp
from support.waiting import wait_until

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "company_chat"
TRY_OUT = dict(
    line.split("=", 1) for line in (EXAMPLE / "try_out.env").read_text().splitlines() if not line.startswith("#")
)
HR_QUESTION, HR_ANSWER = "Who approves a change of a salary band?", "Signe Dahl"
QUESTION, ANSWER = "How many days of leave do employees get?", "30"
URL = "http://localhost:8000"


@contextmanager
def served(factory: str, url: str, environment: Mapping[str, str], log: Path) -> Generator[None]:
    """Run an app of the example as its commands do, until the block ends."""
    command = [sys.executable, "-m", "uvicorn", "--factory", factory, "--port", str(urlsplit(url).port)]
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=EXAMPLE, env={**os.environ, **environment}, stdout=out, stderr=out)

    def listens() -> bool:
        assert server.poll() is None, log.read_text()
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", urlsplit(url).port or 0)) == 0

    try:
        wait_until(listens)
        yield
    finally:
        server.terminate()
        server.wait(60)
        assert "Traceback" not in log.read_text()


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://localhost:{listener.getsockname()[1]}"


@pytest.fixture
def chat_url(tmp_path: Path) -> Iterator[str]:
    with ExitStack() as running:
        url, issuer = free_address(), free_address()
        environment = {**TRY_OUT, "CHAT_URL": url, "CHAT_ISSUER": issuer, "CHAT_INDEXES": str(tmp_path / "indexes")}
        environment["CHAT_THREADS"] = running.enter_context(postgres_server())
        running.enter_context(served("fake_issuer:create", issuer, environment, tmp_path / "issuer.log"))
        running.enter_context(served("company_chat:create", url, environment, tmp_path / "chat.log"))
        yield url


def log_in(chat: Chat, user: str) -> None:
    chat.page.get_by_role("link", name=user).click()
    chat.ready()
    chat.page.locator("#hg-account").get_by_text(user).wait_for()


def test_each_group_asks_its_own_documents(chat_url: str) -> None:
    with chromium_browser() as browser:
        chat = Chat(WebApp(chat_url, None), browser.new_context())
        chat.page.goto(chat_url)
        log_in(chat, "ann")
        assert chat.page.locator("img[src^='data:image/svg+xml']").evaluate("each => each.naturalWidth") > 0
        assert HR_ANSWER in chat.ask(HR_QUESTION)
        assert "salary_bands.md" in chat.last.locator(".hg-sources").inner_text()
        assert ANSWER in chat.ask(QUESTION)
        conversation, (session,) = chat.page.url, chat.page.context.cookies(chat_url)
        assert (session.get("httpOnly"), session.get("sameSite")) == (True, "Lax")
        chat.page.get_by_role("link", name="Log out").click()
        log_in(chat, "ben")
        assert chat.threads.count() == 0
        assert HR_ANSWER not in chat.ask(HR_QUESTION)
        assert chat.last.locator(".hg-sources").count() == 0
        assert ANSWER in chat.ask(QUESTION)
        chat.page.goto(conversation)
        chat.ready()
        assert HR_ANSWER not in chat.page.locator("body").inner_text()
        chat.page.goto(f"{chat_url}/logout")
        log_in(chat, "ann")
        chat.page.goto(conversation)
        chat.last.locator(".hg-question", has_text=QUESTION).wait_for()
        chat.page.context.close()
        assert not chat.errors


@pytest.fixture
def issuer() -> Iterator[OidcIssuer]:
    with oidc_issuer(URL) as opened:
        yield opened


@pytest.fixture
def client(issuer: OidcIssuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    places = {"CHAT_ISSUER": issuer.url, "CHAT_INDEXES": str(tmp_path), "CHAT_THREADS": str(tmp_path / "t.sqlite")}
    secret = {"CHAT_CLIENT_ID": AUDIENCE, "CHAT_CLIENT_SECRET": issuer.client.partition(":")[2]}
    for name, value in {**TRY_OUT, **places, **secret}.items():
        monkeypatch.setenv(name, value)

    async def create() -> FastAPI:  # in a loop, as Gradio otherwise opens several and closes none
        return company_chat.create()

    return TestClient(asyncio.run(create()), URL, follow_redirects=False)


def to_callback(client: TestClient, user: str = "ann") -> str:
    """Go to the issuer and log in there; return the address that it leads back to."""
    asked = client.get("/login").headers["location"]
    return httpx.get(f"{asked}&login_as={user}", timeout=60).headers["location"]


def is_in(client: TestClient) -> bool:
    status = client.get("/v1/models").status_code
    assert status in {200, 401}
    return status == 200


def signed(secret: str, **person: Any) -> str:
    data = base64.b64encode(json.dumps({"person": {"name": "ann", "groups": ["hr"], **person}}).encode())
    return itsdangerous.TimestampSigner(secret).sign(data).decode()


def test_a_stranger_is_sent_to_the_log_in_and_nowhere_else(client: TestClient) -> None:
    with client:
        assert client.get("/").headers["location"] == "chat/"
        assert client.get("/chat/").headers["location"] == "/login"
        refused = [client.get("/chat/config"), client.get("/v1/models"), client.get("/metrics")]
        refused += [client.post("/v1/chat/completions", json={}), client.post("/ag-ui"), client.post("/mcp")]
        assert [each.status_code for each in refused] == [401] * 6


def test_a_session_is_believed_only_if_it_is_signed_and_recent(client: TestClient) -> None:
    with client:
        client.get(to_callback(client))
        assert is_in(client)
        cookie = client.cookies["company_chat"]
        data, rest = cookie.split(".", 1)
        other = base64.b64encode(base64.b64decode(data).replace(b'"ann"', b'"ben"')).decode()
        far = 9_999_999_999
        secret = TRY_OUT["CHAT_SESSION_SECRET"]
        refused = [f"{other}.{rest}", f"{cookie[:-3]}abc", data, signed("x" * 32, until=far), signed(secret, until=1)]
        for forged in refused:
            client.cookies.clear()
            client.cookies.set("company_chat", forged)
            assert not is_in(client), forged
        client.cookies.clear()
        client.cookies.set("company_chat", signed(secret, until=far))
        assert is_in(client)
        client.cookies.set("company_chat", cookie)
        client.get("/logout")
        assert not is_in(client)


def test_a_log_in_that_this_browser_did_not_begin_is_refused(client: TestClient) -> None:
    with client:
        of_another = to_callback(client)
        client.cookies.clear()
        assert client.get(of_another).status_code == 401
        mine = to_callback(client)
        code = parse_qs(urlsplit(mine).query)["code"][0]
        for query in (f"code={code}&state=wrong", f"code={code}", "state=wrong", "error=access_denied", ""):
            assert client.get(f"/callback?{query}").status_code == 401
        assert not is_in(client)
        assert client.get(mine).status_code == 303
        assert is_in(client)
        assert client.get(mine).status_code == 401, "a code is used once"


def test_an_id_token_for_something_else_or_with_another_signature_is_refused(
    client: TestClient, issuer: OidcIssuer
) -> None:
    with client:
        for changes in (
            {"iss": "https://evil.example"},
            {"aud": "another-app"},
            {"aud": "another-app", "azp": AUDIENCE},
            {"nonce": "of another log-in"},
            {"nonce": None},
            {"exp": 1_700_000_000},
            {"sub": None},
            {"sub": ""},
        ):
            issuer.changes = changes
            assert client.get(to_callback(client)).status_code == 401, changes
            assert not is_in(client), changes
        issuer.changes = {}
        assert client.get(to_callback(client)).status_code == 303
        issuer.rsa = rsa.generate_private_key(65537, 2048)  # whose public key the app does not have
        client.cookies.clear()
        assert client.get(to_callback(client)).status_code == 401
        assert not is_in(client)


def test_an_issuer_that_is_not_reached_is_told(client: TestClient, issuer: OidcIssuer) -> None:
    issuer.fails = True
    with client:
        refused = client.get("/login")
        assert (refused.status_code, "cannot be reached" in refused.text) == (503, True)
        issuer.fails = False
        assert client.get("/login").status_code == 302


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"CHAT_URL": "", "CHAT_CLIENT_SECRET": ""}, "set CHAT_URL (the address that people open"),
        ({"CHAT_SESSION_SECRET": "short"}, "CHAT_SESSION_SECRET has under 32 characters"),
        ({"CHAT_ISSUER": "http://login.example.org"}, "CHAT_ISSUER=http://login.example.org: use https"),
        ({"CHAT_DOCUMENTS": "/nowhere"}, "No such file or directory: '/nowhere'"),
        ({"CHAT_DOCUMENTS": str(EXAMPLE / "documents" / "hr")}, "no folder with documents"),
        ({"HOPGRAPH_MODEL": "openai:gpt-4.1-mini", "OPENAI_API_KEY": ""}, "OPENAI_API_KEY"),
        ({"HOPGRAPH_MODEL": "opnai:gpt-4.1-mini"}, "opnai:gpt-4.1-mini"),
        ({"CHAT_THREADS": "postgresql://chat@127.0.0.1:9/chat"}, "threads at postgresql://chat@127.0.0.1"),
    ],
)
def test_a_setting_that_is_missing_or_unsafe_is_one_line(
    changes: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"CHAT_INDEXES": str(tmp_path), "CHAT_THREADS": str(tmp_path / "t.sqlite")}
    for name, value in {**TRY_OUT, **places, **changes}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match=r"company_chat: ") as told:
        company_chat.create()
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_threads_in_use_are_one_line(client: TestClient) -> None:
    with client, pytest.raises(SystemExit, match=r"company_chat: threads at .* are in use by another process"):
        company_chat.create()


def test_a_folder_without_text_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    documents = tmp_path / "documents"
    shutil.copytree(EXAMPLE / "documents", documents)
    (documents / "sales").mkdir()
    assert company_chat.index_documents(documents, tmp_path / "indexes").keys() == {"all", "hr"}
    assert "documents of sales are left out: " in caplog.text


def test_the_compose_file_names_what_there_is() -> None:
    described: dict[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())
    services: dict[str, Any] = described["services"]
    named = [each for service in services.values() for each in service.get("depends_on", ())]
    named.append(services["issuer"]["network_mode"].removeprefix("service:"))
    assert set(named) <= services.keys()
    files = [EXAMPLE / service["env_file"] for service in services.values() if "env_file" in service]
    builds = [service["build"] for service in services.values() if "build" in service]
    files += [EXAMPLE / build["context"] / build["dockerfile"] for build in builds]
    volumes = [each.split(":")[0] for service in services.values() for each in service.get("volumes", ())]
    files += [EXAMPLE / each for each in volumes if each.startswith(".")]
    assert len(files) == 5
    assert all(each.exists() for each in files)
    assert {each for each in volumes if not each.startswith(".")} == described["volumes"].keys()
    assert services["db"]["environment"]["POSTGRES_PASSWORD"] == TRY_OUT["PGPASSWORD"]
    assert services["issuer"]["command"][2] == f"{fake_issuer.__name__}:{fake_issuer.create.__name__}"
    assert TRY_OUT.keys() >= company_chat.REQUIRED.keys()
