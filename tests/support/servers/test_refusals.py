"""Requests that the server refuses, as OpenAI does."""

import re
from typing import Any

import httpx
import openai
import pytest

from support.servers.clients import chat_client, post_chat
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel

KEY = "sk-test-0123456789abcdef"


def scripted(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=replies)


@pytest.mark.parametrize("key", ["sk-wrong-0000000000", ""])
def test_wrong_key_is_status_401_and_echoed(key: str) -> None:
    with OpenAIServer(scripted(), api_key=KEY) as server:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        for reply in (
            httpx.post(f"{server.base_url}/chat/completions", headers=headers, json={"model": "m"}),
            httpx.get(f"{server.base_url}/models", headers=headers),
        ):
            assert reply.status_code == 401
            assert reply.json()["error"]["code"] == "invalid_api_key"
            assert key in reply.json()["error"]["message"]
    assert [request.key_ok for request in server.requests] == [False, False]


def test_wrong_key_in_the_client() -> None:
    with (
        OpenAIServer(scripted(), api_key=KEY) as server,
        pytest.raises(openai.AuthenticationError, match="sk-wrong"),
    ):
        chat_client(server, api_key="sk-wrong-0000000000").invoke("Who?")


def test_models_are_listed_and_others_unknown() -> None:
    with OpenAIServer(scripted("Ada"), models=["m", "n"]) as server:
        listed = openai.OpenAI(base_url=server.base_url, api_key="any").models.list()
        assert [model.id for model in listed] == ["m", "n"]
        assert chat_client(server).invoke("Who?").text == "Ada"
        with pytest.raises(openai.NotFoundError, match="'other' does not exist"):
            chat_client(server, model="other").invoke("Who?")


def test_unknown_url_has_an_openai_class() -> None:
    with OpenAIServer(scripted()) as server:
        reply = httpx.post(f"{server.base_url}/responses", json={})
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "unknown_url")
    assert server.requests[0].path == "/v1/responses"


OPEN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
NO_SUCH_TOOL = {"type": "function", "function": {"name": "g"}}
OPTIONAL = {**OPEN, "additionalProperties": False, "required": []}


def tool(**function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": OPEN, **function}}


def schema_format(schema: dict[str, Any], name: str = "s") -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"messages": []}, "at least 1 item"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages cannot be read"),
        ({"n": 2}, "should be 1"),
        ({"response_format": {"type": "json_object"}}, "the word 'json'"),
        ({"response_format": {"type": "json_schema"}}, "json_schema is missing"),
        ({"response_format": schema_format({}, "not a name")}, "should match pattern"),
        ({"response_format": schema_format({"anyOf": [{}, OPEN]})}, r"must be false at \$\.anyOf\[1\]"),
        ({"response_format": schema_format(OPTIONAL)}, "required must name every property"),
        ({"tools": [tool(strict=True)]}, "invalid schema for function 'f'"),
        (
            {"tools": [tool()], "tool_choice": {"type": "function", "function": {"name": "g"}}},
            "'g' is not in",
        ),
    ],
)
def test_request_that_openai_refuses(body: dict[str, Any], message: str) -> None:
    with OpenAIServer(scripted()) as server:
        reply = post_chat(server, **body)
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert re.search(message, reply.json()["error"]["message"])


@pytest.mark.parametrize("raw", [b"{", b"\xff\xfe", b"[1]", b""])
def test_body_that_is_no_request(raw: bytes) -> None:
    with OpenAIServer(scripted()) as server:
        reply = httpx.post(f"{server.base_url}/chat/completions", content=raw)
    assert reply.status_code == 400
    assert reply.json()["error"]["message"]
