"""Refusals of the test servers, without which product tests could pass wrongly."""

import re
from typing import Any

import httpx
import openai
import pytest
from langchain_openai import ChatOpenAI

from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel


def scripted(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=replies)


def chat_client(server: OpenAIServer, **settings: Any) -> ChatOpenAI:
    given: dict[str, Any] = {"model": "m", "base_url": server.base_url, "api_key": "any", "max_retries": 0, **settings}
    return ChatOpenAI(**given)


def test_running_out_of_scripted_replies_fails_the_test_even_behind_a_server() -> None:
    model = scripted("one")
    assert model.invoke("a").text == "one"
    with pytest.raises(AssertionError, match=r"call 2 .* with 1 replies"):
        model.invoke("b")
    server = OpenAIServer(scripted())
    server.start()
    with pytest.raises(openai.InternalServerError):
        chat_client(server).invoke("Who?")
    with pytest.raises(AssertionError, match=r"raised 1 time.*call 1 "):
        server.__exit__(None, None, None)


def test_a_wrong_key_and_an_unknown_model_are_refused() -> None:
    with OpenAIServer(scripted(), api_key="right", models=["m"]) as server:
        with pytest.raises(openai.AuthenticationError):
            chat_client(server, api_key="wrong").invoke("Who?")
        with pytest.raises(openai.NotFoundError):
            chat_client(server, api_key="right", model="other").invoke("Who?")


OPEN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
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
        asked = {"model": "m", "messages": [{"role": "user", "content": "Who?"}], **body}
        reply = httpx.post(f"{server.base_url}/chat/completions", json=asked)
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert re.search(message, reply.json()["error"]["message"])
