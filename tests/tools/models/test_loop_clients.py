"""Requests of langchain-openai's models go out on the loop that asks, with a client of that loop."""

import asyncio
import gzip
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import trustme
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from hopgraph.graphs.baselines import direct, one_step
from hopgraph.state import ModelError, QuestionInput, SpecError
from hopgraph.state.migres import MigresContext
from hopgraph.state.run_settings import begin_run
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.io.json_server import JsonServer
from hopgraph.tools.models import Sampling, resolve_model
from hopgraph.tools.models.offline import RuleBasedModel
from hopgraph.tools.models.resolve import ModelHandle
from hopgraph.tools.models.send import SendOptions, send
from hopgraph.tools.resources import get_model
from support.servers.loopback import LoopbackServer
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel
from support.waiting import PATIENCE

MESSAGES: list[BaseMessage] = [SystemMessage("Role: migres/recall_knowledge\n\nSay it."), HumanMessage("Wo ist Köln?")]
OPTIONS = SendOptions(parallel=64, retries=0)


class Known(BaseModel):
    knowledge: str


def server(**options: Any) -> OpenAIServer:
    return OpenAIServer(ScriptedChatModel(replies=lambda *_: '{"knowledge": "Am Rhein."}'), **options)


async def by_spec(running: OpenAIServer) -> ModelHandle:
    return await resolve_model(f"openai:scripted?base_url={running.base_url}", Sampling())


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
@pytest.mark.parametrize("kind", ["spec", "object"])
def test_a_loop_takes_its_connections_with_it(kind: str) -> None:
    with server() as running, warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        ready = ChatOpenAI(model="scripted", base_url=running.base_url, api_key=SecretStr("none"))

        async def ask() -> None:
            handle = await (by_spec(running) if kind == "spec" else resolve_model(ready, Sampling()))
            await asyncio.gather(*(send(handle, MESSAGES, Known, OPTIONS) for _ in range(10)))

        asyncio.run(ask())
        before = open_files()
        for _ in range(25):
            asyncio.run(ask())
        for _ in range(100):  # the server, which is in this process, closes its ends a moment later
            if open_files() <= before + 5:
                break
            time.sleep(0.05)
        assert open_files() <= before + 5
        assert len(running.requests) == 260


def test_loops_of_several_threads_ask_at_the_same_time() -> None:
    failed = list[BaseException]()
    with server(latency=0.01) as running:

        async def ask() -> None:
            handle = await by_spec(running)
            await asyncio.gather(*(send(handle, MESSAGES, Known, OPTIONS) for _ in range(20)))

        def run() -> None:
            try:
                asyncio.run(ask())
            except BaseException as error:  # noqa: BLE001 - it is reported below
                failed.append(error)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert len(running.requests) == 80


async def test_a_forked_child_has_clients_of_its_own() -> None:
    with server() as running:
        await send(await by_spec(running), MESSAGES, Known, OPTIONS)
        child = os.fork() if hasattr(os, "fork") else pytest.skip("no fork here")
        if not child:

            async def ask() -> None:
                await send(await by_spec(running), MESSAGES, Known, OPTIONS)

            try:
                thread = threading.Thread(target=asyncio.run, args=(ask(),))  # this thread's loop is the parent's
                thread.start()
                thread.join()
            finally:
                os._exit(0)
        await asyncio.to_thread(os.waitpid, child, 0)
        assert len(running.requests) == 2


async def test_eight_requests_at_a_time_share_a_client_and_all_of_them_the_certificates() -> None:
    with server() as running:
        handle = await by_spec(running)
        taken = [await handle.here()]
        for _ in range(16):
            taken[-1].requests += 1
            taken.append(await handle.here())
        assert [taken.index(each) for each in taken] == [0] * 8 + [8] * 8 + [16]
        assert taken[0].options is taken[16].options
        taken[8].requests -= 1
        assert await handle.here() is taken[8]


async def test_an_http_client_of_the_callers_is_used() -> None:
    import httpx2

    sent = list[str]()

    async def note(request: Any) -> None:
        sent.append(request.url.path)

    with server() as running:
        client = httpx2.AsyncClient(event_hooks={"request": [note]})
        model = ChatOpenAI(
            model="scripted", base_url=running.base_url, api_key=SecretStr("none"), http_async_client=client
        )
        await send(await resolve_model(model, Sampling()), MESSAGES, Known, OPTIONS)
        await run_on(background_loop(), client.aclose())
        assert sent == ["/v1/chat/completions"]


async def test_the_models_of_a_run_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with server() as running:
        run = begin_run(MigresContext(model=f"openai:scripted?base_url={running.base_url}"), MigresContext)
        handle = await get_model(run, "migres/decide")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-corrected")
        assert await get_model(run, "migres/decide") is handle
        later = begin_run(MigresContext(model=f"openai:scripted?base_url={running.base_url}"), MigresContext)
        assert await get_model(later, "migres/decide") is not handle


REPLY = {"message": {"role": "assistant", "content": '{"knowledge": "Am Rhein."}'}, "finish_reason": "stop"}


def answering(*headers: tuple[bytes, bytes], status: int = 200, seen: list[Scope] | None = None) -> Any:
    """Return an application that answers each request alike; `seen` gets the requests."""

    async def answer(scope: Scope, receive: Receive, reply_to: Send) -> None:
        if seen is not None:
            seen.append(scope)
        reply = {"id": "1", "model": "m", "choices": [{"index": 0, **REPLY}]}
        response = JSONResponse(reply if status < 400 else {"error": {"message": "this model is on holiday"}}, status)
        response.raw_headers.extend(headers)
        await response(scope, receive, reply_to)

    return answer


@pytest.mark.parametrize("kind", ["spec", "environment", "object"])
@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("", "/chat/completions"),
        ("/", "/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/a%20b/v1", "/a b/v1/chat/completions"),
    ],
)
async def test_any_form_of_an_address_is_completed(
    kind: str, given: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Scope] = []
    with LoopbackServer(answering(seen=seen)) as running:
        address = f"{running.url}{given}"
        model: Any = f"openai:m?base_url={address}"
        if kind == "environment":
            monkeypatch.setenv("OPENAI_BASE_URL", address)
            model = "openai:m"
        if kind == "object":
            model = ChatOpenAI(model="m", base_url=address, api_key=SecretStr("none"))
        reply = await send(await resolve_model(model, Sampling()), MESSAGES, Known, OPTIONS)
    assert (reply.text, [each["path"] for each in seen]) == ('{"knowledge": "Am Rhein."}', [asked])


@pytest.mark.parametrize("kind", ["spec", "environment"])
@pytest.mark.parametrize("given", ["{}/chat/completions", "{}/responses/", "{}\r\n", ' "{}" ', "\ufeff{}/"])
async def test_what_stands_around_an_address_is_left_out(
    kind: str, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Scope] = []
    with LoopbackServer(answering(seen=seen)) as running:
        address = given.replace("{}", f"{running.url}/v1")
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        spec = f"openai:m?base_url={quote(address)}" if kind == "spec" else "openai:m"
        await send(await resolve_model(spec, Sampling()), MESSAGES, Known, OPTIONS)
    assert [each["path"] for each in seen] == ["/v1/chat/completions"]


@pytest.mark.parametrize("variable", ["base_url", "OPENAI_BASE_URL", "OPENAI_API_BASE"])
@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000/v1",
        "ftp://127.0.0.1/v1",
        "http://127.0.0.1:80a0",
        "http://127.0\n.0.1/v1",
        "http://[::1",
        "http://127.0 .0.1",
    ],
)
async def test_what_is_no_address_is_named_with_its_variable(
    variable: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = "openai:m"
    if variable == "base_url":
        spec = f"openai:m?base_url={quote(address)}"
    else:
        monkeypatch.setenv(variable, address)
    with pytest.raises(SpecError, match=rf"^{variable} ") as caught:
        await resolve_model(spec, Sampling())
    assert "\n" not in str(caught.value)


async def test_an_address_of_blanks_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", " \n")
    with LoopbackServer(answering()) as running:
        monkeypatch.setenv("OPENAI_API_BASE", f"{running.url}/v1")
        reply = await send(await resolve_model("openai:m", Sampling()), MESSAGES, Known, OPTIONS)
    assert reply.text == '{"knowledge": "Am Rhein."}'


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OPENAI_API_KEY", "Bearer sk-very-secret"),
        ("OPENAI_API_KEY", '"sk-very-secret"'),
        ("OPENAI_API_KEY", "sk-very\nsecret"),
        ("OPENAI_API_KEY", "sk-very-secret\x1b"),
        ("OPENAI_API_KEY", "sk-vëry-secret"),
        ("OPENAI_ORG_ID", "org-very-secret\n"),
        ("OPENAI_PROJECT_ID", "very\x1bsecret"),
        ("OPENAI_PROJECT_ID", " secret"),
        ("OPENAI_CUSTOM_HEADERS", "X-Title: Zürich secret"),
        ("OPENAI_CUSTOM_HEADERS", "X-A: b\nX Title: secret"),
        ("OPENAI_CUSTOM_HEADERS", "X-A: secret\x07"),
        ("OPENAI_API_KEY", "OPENAI_API_KEY=sk-secret"),
    ],
)
async def test_what_cannot_be_sent_in_a_header_is_named_and_not_shown(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SpecError, match=rf"^{variable} (?:is not a complete key|cannot be sent)") as caught:
        await resolve_model("openai:m?base_url=http://127.0.0.1:9/v1", Sampling())
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "variable",
    ["OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_VERSION", "OPENAI_CUSTOM_HEADERS"],
)
async def test_another_value_of_what_is_sent_gives_another_client(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handles: list[ModelHandle] = []
    for value in ("X-First: 1", "X-Second: 2"):
        monkeypatch.setenv(variable, value.replace(": ", "-") if "HEADERS" not in variable else value)
        handles += [await resolve_model("openai:m?base_url=http://127.0.0.1:9/v1", Sampling()) for _ in range(2)]
    first, again, second, _ = handles
    assert first is again
    assert second is not first


@pytest.mark.parametrize(
    "body", [{"detail": "Not Found"}, "404 page not found", {"error": {"message": "File Not Found"}}]
)
@pytest.mark.parametrize(("path", "hint"), [("", "addresses end in /v1"), ("/v1", "/models there lists its models")])
async def test_a_wrong_path_is_asked_once_and_the_message_says_how_addresses_end(
    body: Any, path: str, hint: str
) -> None:
    asked: list[str] = []

    async def answer(scope: Scope, receive: Receive, reply_to: Send) -> None:
        asked.append(scope["path"])
        await JSONResponse(body, 404)(scope, receive, reply_to)

    with LoopbackServer(answer) as running, pytest.raises(ModelError, match=f"{running.url}.* {hint}"):
        await ask_at(running.url + path)
    assert asked == [f"{path}/chat/completions"]


async def ask_at(address: str) -> str:
    return (await send(await resolve_model(f"openai:m?base_url={address}", Sampling()), MESSAGES, Known, OPTIONS)).text


@pytest.mark.parametrize("scheme", ["http://", ""])
@pytest.mark.parametrize(("bypassed", "asked"), [("", [0, 1]), ("127.0.0.1", [1, 0])])
async def test_requests_go_through_a_proxy_that_the_environment_names(
    bypassed: str, asked: list[int], scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct, by_proxy = list[Scope](), list[Scope]()
    with LoopbackServer(answering(seen=direct)) as running, LoopbackServer(answering(seen=by_proxy)) as proxy:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, bypassed)
        monkeypatch.setenv("HTTP_PROXY", f"{scheme}127.0.0.1:{proxy.port}")
        assert await ask_at(f"{running.url}/v1") == '{"knowledge": "Am Rhein."}'
    assert [len(direct), len(by_proxy)] == asked


async def test_a_redirect_is_followed() -> None:
    asked: list[str] = []

    async def answer(scope: Scope, receive: Receive, reply_to: Send) -> None:
        asked.append(scope["path"])
        if scope["path"].startswith("/v1"):
            await Response(status_code=307, headers={"location": "/v2/chat/completions"})(scope, receive, reply_to)
        else:
            await answering()(scope, receive, reply_to)

    with LoopbackServer(answer) as running:
        assert await ask_at(f"{running.url}/v1") == '{"knowledge": "Am Rhein."}'
    assert asked[-1] == "/v2/chat/completions"


async def test_many_and_long_headers_are_read() -> None:
    headers = [(b"x-long", b"x" * 20_000), *((f"x-{number}".encode(), b"x") for number in range(300))]
    with LoopbackServer(answering(*headers)) as running:
        assert await ask_at(f"{running.url}/v1") == '{"knowledge": "Am Rhein."}'


async def test_an_error_with_headers_in_any_encoding_is_reported() -> None:
    app, said = answering((b"x-reason", "Schlüssel".encode()), status=429), "HTTP 429: this model is on holiday"
    with LoopbackServer(app) as running, pytest.raises(ModelError, match=said) as caught:
        await ask_at(f"{running.url}/v1")
    assert caught.value.trouble == "outage"


async def test_a_compressed_error_is_read() -> None:
    problem = gzip.compress(b'{"error": {"message": "this model is on holiday"}}')

    async def answer(scope: Scope, receive: Receive, reply_to: Send) -> None:
        await Response(problem, 418, headers={"content-encoding": "gzip"})(scope, receive, reply_to)

    with LoopbackServer(answer) as running, pytest.raises(ModelError, match="HTTP 418: this model is on holiday"):
        await ask_at(f"{running.url}/v1")


async def test_what_is_not_http_is_reported_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SMTP ready\r\n\r\n")
        writer.close()

    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with listener:
        with pytest.raises(ModelError, match="did not reply in HTTP") as caught:
            await ask_at(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1")
    error: BaseException | None = caught.value
    while error:
        assert "very-secret" not in repr(error)
        error = error.__cause__ or error.__context__


async def test_headers_of_the_environment_replace_the_keys_and_a_line_break_after_it_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Scope] = []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one\n")
    with LoopbackServer(answering(seen=seen)) as running:
        await ask_at(f"{running.url}/v1")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "authorization: Basic abc")
        await ask_at(f"{running.url}/v1?")
    keys = [[value for name, value in each["headers"] if name == b"authorization"] for each in seen]
    assert keys == [[b"Bearer sk-one"], [b"Basic abc"]]


async def test_a_certificate_is_checked_and_one_of_an_authority_that_is_named_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, pem, known = trustme.CA(), tmp_path / "server.pem", tmp_path / "authority.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(pem))
    authority.cert_pem.write_to_path(str(known))

    with LoopbackServer(answering(), certificate=pem) as running:
        spec = f"openai:m?base_url={running.url}/v1"
        with pytest.raises(ModelError, match=r"the certificate of https://.* is refused: .* \(.* SSL_CERT_FILE, "):
            await send(await resolve_model(spec, Sampling()), MESSAGES, Known, OPTIONS)
        with pytest.raises(ModelError, match=r"the certificate of https://.* is refused: .* \(.* SSL_CERT_FILE, "):
            await JsonServer(running.url, retries=0).request("POST", str, json={})
        monkeypatch.setenv("SSL_CERT_FILE", str(known))
        reply = await send(await resolve_model(f"{spec}&max_tokens=500", Sampling()), MESSAGES, Known, OPTIONS)
    assert reply.text == '{"knowledge": "Am Rhein."}'


@pytest.mark.slow
def test_a_loop_that_is_closed_without_its_generators_leaves_no_complaint() -> None:
    program = """
import asyncio, gc, sys
from hopgraph.graphs.baselines import direct
for _ in range(2):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(direct.graph.ainvoke({"question": "Where is Köln?"}, context={"model": sys.argv[1]}))
    loop.close()
    gc.collect()
"""
    with server() as running:
        command = [sys.executable, "-c", program, f"openai:scripted?base_url={running.base_url}"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert (ran.returncode, ran.stderr, len(running.requests) > 1) == (0, "", True)


class Watcher(AsyncCallbackHandler):
    """Notes the models that were asked, and the retrievers."""

    def __init__(self) -> None:
        self.models, self.retrievers = list[str](), list[str]()

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.models.append(serialized["name"])

    async def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.retrievers.append(kwargs["name"])


async def test_a_handler_sees_the_calls_and_the_run_is_the_same_without_one() -> None:
    watcher = Watcher()
    question: QuestionInput = {"question": "Who painted Guernica?"}
    with OpenAIServer(RuleBasedModel()) as running:
        settings = {"model": f"openai:scripted?base_url={running.base_url}", "retriever": "sample"}
        alone = await one_step.graph.ainvoke(question, context=settings)
        watched = await one_step.graph.ainvoke(question, {"callbacks": [watcher]}, context=settings)
        one, other = running.requests
    assert (watcher.models, watcher.retrievers) == (["ChatOpenAI"], ["Bm25Retriever"])
    assert one.body == other.body
    for key in ("answer", "citations", "passages"):
        assert alone[key] == watched[key]
    assert alone["usage"]["prompt_tokens"] == watched["usage"]["prompt_tokens"] > 0


async def test_structured_output_of_langchains_own_works_unwatched() -> None:
    with LoopbackServer(answering()) as running:
        handle = await resolve_model(f"openai:m?base_url={running.url}/v1", Sampling())
        model: Any = handle.model
        structured = model.with_structured_output(Known, method="json_mode")
        assert await structured.ainvoke(MESSAGES) == Known(knowledge="Am Rhein.")


async def test_langchains_cache_of_replies_is_asked() -> None:
    with server() as running:
        set_llm_cache(InMemoryCache())
        try:
            settings = {"model": f"openai:scripted?base_url={running.base_url}"}
            for _ in range(2):
                await direct.graph.ainvoke({"question": "Where is Köln?"}, context={**settings, "parse_retries": 0})
        finally:
            set_llm_cache(None)
        assert len(running.requests) == 1
