"""What is meant for a server, keys, headers and texts, reaches no other: no proxy, and not where it redirects to."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from dataclasses import field as record_field
from pathlib import Path
from typing import Any, cast

import pytest
import trustme
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from hopgraph.state import HopgraphError, SettingsError
from hopgraph.state.protocols import AsyncScorer
from hopgraph.tools.models import Sampling, resolve_model
from hopgraph.tools.models.completions import TextRequest, complete
from hopgraph.tools.models.send import SendOptions, send
from hopgraph.tools.retrieval.embeddings.resolve import openai_embeddings
from hopgraph.tools.retrieval.web.resolve import resolve_web
from hopgraph.tools.scoring.remote import remote_entailment, remote_reranker
from support.servers.forward_proxy import ForwardProxy
from support.servers.loopback import LoopbackServer

KEY, HEADER, TEXT = "sk-key-of-the-user", "header-of-the-user", "text of the user"
SECRETS = (KEY, HEADER, TEXT)
KEY_VARIABLES = (
    "OPENAI_API_KEY",
    "HOPGRAPH_RERANKER_API_KEY",
    "HOPGRAPH_ENTAILMENT_API_KEY",
    "SERPER_API_KEY",
)
MESSAGES: list[BaseMessage] = [SystemMessage("Say it."), HumanMessage(TEXT)]
STATUSES = (301, 302, 303, 307, 308)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class Known(BaseModel):
    knowledge: str


@dataclass
class Recorder:
    """Answers as every kind of server, and keeps what it was sent; or redirects to another address."""

    redirects_to: str = ""
    status: int = 307
    seen: list[str] = record_field(default_factory=list[str])
    """Headers and body of each request."""

    async def __call__(self, scope: Scope, receive: Receive, send_back: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        self.seen.append(f"{dict(request.headers)} {body.decode()}")
        if self.redirects_to:
            answer = Response(status_code=self.status, headers={"location": self.redirects_to + request.url.path})
        else:
            answer = JSONResponse(_answer(request.url.path, json.loads(body or b"{}")))
        await answer(scope, receive, send_back)


def _answer(path: str, body: Any) -> Any:
    if path.endswith("/chat/completions"):
        message = {"role": "assistant", "content": '{"knowledge": "Am Rhein."}'}
        return {"id": "1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    if path.endswith("/completions"):
        text = f"{body['prompt']}."
        logprobs = {"tokens": list(text), "token_logprobs": [-1.0] * len(text)}
        usage = {"prompt_tokens": len(text) - 1, "completion_tokens": 1}
        return {"choices": [{"text": text, "logprobs": logprobs}], "usage": usage}
    if path.endswith("/embeddings"):
        return {"data": [{"index": index, "embedding": [1.0, 2.0]} for index, _ in enumerate(body["input"])]}
    if path.endswith("/rerank"):
        return [{"index": index, "score": 0.5} for index, _ in enumerate(body["texts"])]
    if path.endswith("/predict"):
        return [[{"label": "entailment", "score": 0.5}] for _ in body["inputs"]]
    return {"organic": [{"link": "https://example.org", "title": "Köln", "snippet": "Am Rhein."}]}


async def ask_model(address: str) -> Any:
    handle = await resolve_model(f"openai:m?base_url={address}/v1", Sampling())
    return await send(handle, MESSAGES, Known, SendOptions(parallel=1, retries=0))


async def stream_from_model(address: str) -> Any:
    handle = await resolve_model(f"openai:m?base_url={address}/v1", Sampling())
    options = SendOptions(parallel=1, retries=0, on_text=lambda text: None)
    return await send(handle, MESSAGES, Known, options)


async def ask_object(address: str) -> Any:
    headers = {"api-key": HEADER}
    model = ChatOpenAI(model="m", base_url=f"{address}/v1", api_key=SecretStr(KEY), default_headers=headers)
    return await send(await resolve_model(model, Sampling()), MESSAGES, Known, SendOptions(parallel=1, retries=0))


async def ask_for_log_probabilities(address: str) -> Any:
    handle = await resolve_model(f"openai:m?base_url={address}/v1", Sampling())
    return await complete(handle, MESSAGES, TextRequest(continuation=" Köln"), SendOptions(parallel=1, retries=0))


async def embed(address: str) -> Any:
    return (await openai_embeddings(f"openai:m?base_url={address}/v1").aquery(TEXT)).tolist()


async def rerank(address: str) -> Any:
    return await cast("AsyncScorer", remote_reranker(address)).ascore([(TEXT, "Am Rhein.")])


async def entail(address: str) -> Any:
    return await cast("AsyncScorer", remote_entailment(address)).ascore([(TEXT, "Am Rhein.")])


async def search(address: str) -> Any:
    return await resolve_web(f"web:serper?base_url={address}&retries=0").ainvoke(TEXT)


Ask = Callable[[str], Awaitable[Any]]
CLIENTS = (ask_model, ask_object, ask_for_log_probabilities, embed, rerank, entail, search)
every_client = pytest.mark.parametrize("ask", CLIENTS, ids=lambda ask: ask.__name__)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in KEY_VARIABLES:
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"api-key: {HEADER}")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The files of a server's certificate and of its authority."""
    folder, authority = tmp_path_factory.mktemp("certificates"), trustme.CA()
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(folder / "server.pem"))
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    return folder / "server.pem", folder / "authority.pem"


@every_client
@pytest.mark.parametrize("login", ["", "ann:secret"])
async def test_a_proxy_of_an_encrypted_server_is_told_the_address_alone(
    ask: Ask, login: str, certificates: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates[1]))
    with LoopbackServer(recorder, certificate=certificates[0]) as server:
        async with ForwardProxy(login) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
            assert await ask(server.url)
    assert KEY in recorder.seen[0]
    assert TEXT in recorder.seen[0]
    assert not [secret for secret in SECRETS if secret.encode() in proxy.received]
    for head in proxy.heads:
        names = {line.partition(":")[0] for line in head.split("\r\n")[1:] if line}
        assert names <= {"host", "accept", "proxy-connection", *(["proxy-authorization"] if login else [])}
        assert ("authorization: basic " in head) == bool(login)
    assert "proxy-authorization" not in recorder.seen[0]


@every_client
@pytest.mark.parametrize("login", ["", "ann:secret"])
async def test_a_proxy_of_an_unencrypted_server_gets_no_log_in_but_its_own(
    ask: Ask, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    with LoopbackServer(recorder) as server:
        async with ForwardProxy(login) as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
            assert await ask(server.url)
    assert KEY in recorder.seen[0]
    assert len(proxy.heads) == len(recorder.seen)
    for head in proxy.heads:
        assert [line[:26] for line in head.split("\r\n") if line.startswith("proxy-authorization")] == (
            ["proxy-authorization: basic"] if login else []
        )


@every_client
async def test_a_proxy_is_not_told_of_a_server_that_it_is_not_for(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    with LoopbackServer(recorder) as server:
        async with ForwardProxy() as proxy:
            monkeypatch.setenv("ALL_PROXY", f"http://{proxy.address}")
            monkeypatch.setenv("NO_PROXY", "localhost, 127.0.0.0/8")
            assert await ask(server.url)
    assert (len(proxy.received), len(recorder.seen)) == (0, 1)


@pytest.mark.parametrize("ask", [*CLIENTS, stream_from_model], ids=lambda ask: ask.__name__)
@pytest.mark.parametrize(("status", "host"), [*((each, "127.0.0.1") for each in STATUSES), (307, "localhost")])
async def test_nothing_is_sent_where_a_server_redirects_to(ask: Ask, status: int, host: str) -> None:
    other = Recorder()
    with LoopbackServer(other) as elsewhere:
        here = Recorder(f"http://{host}:{elsewhere.port}", status)
        with LoopbackServer(here) as server, pytest.raises(HopgraphError, match="redirect") as caught:
            await ask(server.url)
    assert (len(here.seen), other.seen, caught.value.trouble != "outage") == (1, [], True)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("ask", [each for each in CLIENTS if each is not ask_object], ids=lambda ask: ask.__name__)
async def test_a_proxy_of_an_unknown_kind_matters_only_where_it_is_needed(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setenv("all_proxy", "socks://127.0.0.1:9/")
    with LoopbackServer(recorder) as server:
        with pytest.raises(SettingsError, match=r"^(?!.*\n).*all_proxy=socks.*NO_PROXY=127\.0\.0\.1"):
            await ask(server.url)
        assert recorder.seen == []
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert await ask(server.url)
