"""The served model as the real clients see it; the faults are in test_faults.py."""

import asyncio
import gc
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import httpx
import openai
import pytest
import uvicorn
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatResult
from pydantic import BaseModel, PrivateAttr
from starlette.types import Receive, Scope, Send

from support.fake_clock import NEVER
from support.servers.chat_request import Mode
from support.servers.clients import chat_client, chat_request, post_chat
from support.servers.loopback import PromptServer
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel, WavesChatModel
from support.waiting import until, wait_until

Method = Literal["json_schema", "function_calling", "json_mode"]
KEY = "sk-test-0123456789abcdef"
PROMPT = [SystemMessage("Role: migres/decide\nReply in JSON."), HumanMessage("Who?")]
FOUND = '{"name": "Ada", "year": 1815}'


class Person(BaseModel):
    name: str
    year: int


def scripted(*replies: str | AIMessage) -> ScriptedChatModel:
    return ScriptedChatModel(replies=replies)


def test_chat_reply_usage_and_record() -> None:
    model = scripted("Ada")
    with OpenAIServer(model, api_key=KEY) as server:
        reply = chat_client(server, api_key=KEY).invoke(PROMPT)
    assert reply.text == "Ada"
    assert reply.response_metadata["finish_reason"] == "stop"
    assert reply.usage_metadata is not None
    assert reply.usage_metadata["output_tokens"] > 0
    assert [type(message) for message in model.calls[0].messages] == [SystemMessage, HumanMessage]
    (request,) = server.requests
    assert (request.method, request.path, request.role) == ("POST", "/v1/chat/completions", "migres/decide")
    assert request.key_ok
    assert isinstance(request.body, dict)
    assert request.body["model"] == "m"
    assert KEY not in str(request)
    assert "user-agent" in request.headers


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
async def test_every_structured_output_mode(method: Method) -> None:
    with OpenAIServer(scripted(FOUND)) as server:
        structured = chat_client(server).with_structured_output(Person, method=method)
        assert await structured.ainvoke(PROMPT) == Person(name="Ada", year=1815)
        (request,) = server.requests
    assert isinstance(request.body, dict)
    assert ("tools" in request.body) == (method == "function_calling")


@pytest.mark.parametrize(
    ("method", "mode"),
    [("json_schema", "json_schema"), ("function_calling", "tools"), ("json_mode", "json_object")],
)
def test_rejected_mode_is_status_400_and_the_others_work(method: Method, mode: Mode) -> None:
    methods: list[Method] = ["json_schema", "function_calling", "json_mode"]
    with OpenAIServer(scripted(FOUND, FOUND), rejects={mode}) as server:
        for each in methods:
            structured = chat_client(server).with_structured_output(Person, method=each)
            if each == method:
                with pytest.raises(openai.BadRequestError, match="not supported") as caught:
                    structured.invoke(PROMPT)
                assert caught.value.param in {"tools", "response_format"}
            else:
                assert structured.invoke(PROMPT) == Person(name="Ada", year=1815)


def test_ignored_tools_come_back_as_text() -> None:
    with OpenAIServer(scripted(FOUND), ignores={"tools"}) as server:
        reply = chat_client(server).bind_tools([Person], tool_choice="Person").invoke(PROMPT)
    assert isinstance(reply, AIMessage)
    assert (reply.text, reply.tool_calls) == (FOUND, [])


@pytest.mark.parametrize(("choice", "called"), [("auto", False), ("any", True), ("none", False)])
def test_tool_choice(choice: str, called: bool) -> None:
    with OpenAIServer(scripted(FOUND)) as server:
        reply = chat_client(server).bind_tools([Person], tool_choice=choice).invoke(PROMPT)
    assert isinstance(reply, AIMessage)
    assert [call["args"] for call in reply.tool_calls] == ([{"name": "Ada", "year": 1815}] if called else [])
    assert reply.text == ("" if called else FOUND)


def test_tool_calls_of_the_model_itself_are_passed_on() -> None:
    own = AIMessage("", tool_calls=[{"name": "Person", "args": {"name": "Bo", "year": 1}, "id": "1"}])
    with OpenAIServer(scripted(own)) as server:
        reply = chat_client(server).bind_tools([Person]).invoke(PROMPT)
    assert isinstance(reply, AIMessage)
    assert reply.tool_calls[0]["args"] == {"name": "Bo", "year": 1}


async def test_stream_of_text_with_usage() -> None:
    text = "A reply that is longer than one event of the stream. " * 3
    with OpenAIServer(scripted(text)) as server:
        chunks = [chunk async for chunk in chat_client(server, stream_usage=True).astream(PROMPT)]
    assert "".join(chunk.text for chunk in chunks) == text
    assert len(chunks) > 5
    assert sum(chunk.usage_metadata["output_tokens"] for chunk in chunks if chunk.usage_metadata) > 10


def test_stream_of_a_tool_call() -> None:
    with OpenAIServer(scripted(FOUND)) as server:
        structured = chat_client(server).with_structured_output(Person, method="function_calling")
        *_, last = structured.stream(PROMPT)
    assert last == Person(name="Ada", year=1815)


def test_usage_can_be_left_out() -> None:
    with OpenAIServer(scripted("Ada"), reports_usage=False) as server:
        assert chat_client(server).invoke(PROMPT).usage_metadata is None


class SyncOnlyModel(ScriptedChatModel):
    """Answers when all sixteen calls are in `_generate`; its async side is LangChain's, which runs that in a thread."""

    _together: threading.Barrier = PrivateAttr(default_factory=lambda: threading.Barrier(16))
    _agenerate = BaseChatModel._agenerate

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self._together.wait(20)
        return super()._generate(*args, **kwargs)


async def _burst(server: OpenAIServer, count: int) -> None:
    async with httpx.AsyncClient(timeout=20, limits=httpx.Limits(max_connections=count)) as raw:
        url = f"{server.base_url}/chat/completions"
        replies = await asyncio.gather(*(raw.post(url, json=chat_request()) for _ in range(count)))
    assert [reply.status_code for reply in replies] == [200] * count


@pytest.mark.parametrize("model", [WavesChatModel(replies=["x"] * 16, waves=[16]), SyncOnlyModel(replies=["x"] * 16)])
async def test_sixteen_requests_are_answered_side_by_side(model: ScriptedChatModel) -> None:
    with OpenAIServer(model) as server:
        await _burst(server, 16)
        assert server.peak_in_flight == 16


def test_latency_of_the_server() -> None:
    with OpenAIServer(scripted("x"), latency=0.2) as server:
        started = time.monotonic()
        chat_client(server).invoke(PROMPT)
        assert time.monotonic() - started >= 0.2


def test_requests_are_held_until_they_are_released() -> None:
    with OpenAIServer(scripted("x", "x")) as server, ThreadPoolExecutor(1) as pool:
        server.hold(after=1)
        assert post_chat(server).status_code == 200
        waiting = pool.submit(post_chat, server)
        wait_until(lambda: len(server.requests) == 2)
        assert not waiting.done()
        server.release()
        assert waiting.result().status_code == 200


def test_error_of_the_model_is_status_500_and_fails_the_test() -> None:
    server = OpenAIServer(scripted())
    server.start()
    with pytest.raises(openai.InternalServerError, match="scripted model with 0 replies"):
        chat_client(server).invoke(PROMPT)
    assert [type(error) for error in server.model_errors] == [AssertionError]
    with pytest.raises(AssertionError, match=r"raised 1 time.*call 1 "):
        server.__exit__(None, None, None)


def test_error_of_the_model_can_be_forgiven() -> None:
    with OpenAIServer(scripted()) as server:
        assert post_chat(server).status_code == 500
        assert len(server.forgive()) == 1


def test_client_that_hangs_up_cancels_the_model_and_close_waits_for_nobody() -> None:
    model = ScriptedChatModel(replies=["x", "x"], latency=NEVER)
    with OpenAIServer(model) as server:
        with pytest.raises(openai.APITimeoutError):
            chat_client(server, timeout=0.3).invoke(PROMPT)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(post_chat, server)
            wait_until(lambda: len(model.calls) == 2)
            server.close()
            assert isinstance(waiting.exception(), httpx.RemoteProtocolError)


def test_close_frees_port_and_thread() -> None:
    server = OpenAIServer(scripted())
    server.close()
    with OpenAIServer(scripted("x")) as server:
        assert post_chat(server).status_code == 200
    server.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("loopback")]
    with pytest.raises(httpx.ConnectError):
        post_chat(server)


async def test_what_is_accepted_while_it_closes_is_not_left_open() -> None:
    """Each of the sockets would be a ResourceWarning, in whichever test they are collected."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("nothing is asked")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = PromptServer(uvicorn.Config(app, lifespan="off", log_config=None))
        serving = asyncio.create_task(server.serve([listener]))
        await until(lambda: server.started)
        clients = [socket.create_connection(listener.getsockname()) for _ in range(8)]
        await asyncio.sleep(0)  # they are accepted after this test has stopped the server, in the same turn of the loop
        server.stop()
        await serving
    for client in clients:
        client.close()
    gc.collect()


def test_roles_and_blocks_of_content_reach_the_model() -> None:
    seen: list[list[BaseMessage]] = []

    def reply(role: str, messages: list[BaseMessage]) -> str:
        seen.append(messages)
        return role

    with OpenAIServer(ScriptedChatModel(replies=reply)) as server:
        content = [{"type": "text", "text": "Role: a/b"}]
        roles = ["system", "user", "assistant", "user"]
        body = post_chat(server, messages=[{"role": role, "content": content} for role in roles]).json()
    assert body["choices"][0]["message"]["content"] == "a/b"
    assert [message.type for message in seen[0]] == ["system", "human", "ai", "human"]
    assert json.dumps(server.requests[0].body).count("Role: a/b") == 4
