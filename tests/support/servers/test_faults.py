"""Each fault as the real clients see it."""

import time
from typing import Any

import httpx
import openai
import pytest
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ValidationError

from support.servers.clients import chat_client, chat_request, post_chat
from support.servers.faults import (
    Fault,
    dropped,
    empty_content,
    fenced,
    malformed_body,
    rate_limited,
    refusal,
    server_error,
    slow,
    thinking,
    truncated,
)
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel

FOUND = '{"name": "Ada", "year": 1815}'


class Person(BaseModel):
    name: str
    year: int


def prompt(role: str = "migres/decide") -> list[SystemMessage | HumanMessage]:
    return [SystemMessage(f"Role: {role}\nReply in JSON."), HumanMessage("Who?")]


def served(*faults: Fault | None, replies: int = 1) -> OpenAIServer:
    server = OpenAIServer(ScriptedChatModel(replies=[FOUND] * replies))
    server.fail_next(*faults)
    return server


def test_rate_limit_with_seconds_then_the_answer() -> None:
    with served(rate_limited(0.4)) as server:
        started = time.monotonic()
        assert chat_client(server, max_retries=1).invoke(prompt()).text == FOUND
        assert time.monotonic() - started >= 0.4
    assert len(server.requests) == 2


def test_rate_limit_headers_and_body() -> None:
    with served(rate_limited(2.5), rate_limited(30, as_date=True), rate_limited(None)) as server:
        seconds, date, none = post_chat(server), post_chat(server), post_chat(server)
    assert [reply.status_code for reply in (seconds, date, none)] == [429] * 3
    assert seconds.headers["retry-after"] == "2.5"
    assert date.headers["retry-after"].endswith(" GMT")
    assert "retry-after" not in none.headers
    assert seconds.json()["error"]["type"] == "rate_limit_error"


@pytest.mark.parametrize("status", [500, 502, 503])
@pytest.mark.parametrize("html", [False, True])
def test_server_error_then_the_answer(status: int, html: bool) -> None:
    with served(server_error(status, html=html)) as server:
        with pytest.raises(openai.InternalServerError) as caught:
            chat_client(server).invoke(prompt())
        assert caught.value.status_code == status
        assert ("<html>" in caught.value.response.text) == html
        assert chat_client(server).invoke(prompt()).text == FOUND


def test_slow_answer_runs_into_the_timeout_before_the_model_is_called() -> None:
    with served(slow(20)) as server:
        with pytest.raises(openai.APITimeoutError):
            chat_client(server, timeout=0.3).invoke(prompt())
        assert chat_client(server).invoke(prompt()).text == FOUND


def test_slow_answer_arrives() -> None:
    with served(slow(0.3)) as server:
        started = time.monotonic()
        assert chat_client(server).invoke(prompt()).text == FOUND
        assert time.monotonic() - started >= 0.3


@pytest.mark.parametrize("stream", [False, True])
def test_connection_dropped_before_the_answer(stream: bool) -> None:
    with served(dropped()) as server, pytest.raises(httpx.RemoteProtocolError, match="without sending"):
        post_chat(server, stream=stream)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("before", ["body", "end"])
def test_connection_dropped_within_the_answer(stream: bool, before: Any) -> None:
    with served(dropped(before)) as server:
        received: list[bytes] = []
        asked = chat_request(stream=stream)
        with httpx.stream("POST", f"{server.base_url}/chat/completions", json=asked) as reply:
            assert reply.status_code == 200
            with pytest.raises(httpx.RemoteProtocolError):
                received.extend(reply.iter_raw())
    assert (b"chatcmpl" in b"".join(received)) == (before == "end")


@pytest.mark.parametrize("before", ["answer", "body", "end"])
def test_dropped_connection_in_the_client_and_its_retry(before: Any) -> None:
    with served(dropped(before), dropped(before), replies=3) as server:
        with pytest.raises(openai.APIConnectionError):
            chat_client(server).invoke(prompt())
        assert chat_client(server, max_retries=1).invoke(prompt()).text == FOUND
    assert len(server.requests) == 3


async def test_dropped_stream_in_the_client() -> None:
    with served(dropped("end")) as server:
        with pytest.raises((openai.APIError, httpx.HTTPError, OSError)):
            async for _ in chat_client(server).astream(prompt()):
                pass
        assert len(server.requests) == 1


def test_malformed_body() -> None:
    bodies = [malformed_body(), malformed_body(b'{"choices": null}'), malformed_body(b"data: {\n\n")]
    with served(*bodies) as server:
        with pytest.raises(ValueError, match="Unterminated"):
            chat_client(server).invoke(prompt())
        with pytest.raises(TypeError, match="null value for 'choices'"):
            chat_client(server).invoke(prompt())
        assert post_chat(server, stream=True).headers["content-type"].startswith("text/event-stream")


def test_truncated_content() -> None:
    with served(truncated(), truncated(0.2), truncated(), replies=3) as server:
        reply = chat_client(server).invoke(prompt())
        assert (reply.text, reply.response_metadata["finish_reason"]) == (FOUND[:14], "length")
        with pytest.raises(openai.LengthFinishReasonError):
            chat_client(server).with_structured_output(Person, method="json_schema").invoke(prompt())
        called = chat_client(server).bind_tools([Person], tool_choice="Person").invoke(prompt())
    assert isinstance(called, AIMessage)
    assert called.response_metadata["finish_reason"] == "length"


def test_empty_content() -> None:
    with served(empty_content(), empty_content(), replies=2) as server:
        assert chat_client(server).invoke(prompt()).text == ""
        called = chat_client(server).bind_tools([Person], tool_choice="Person").invoke(prompt())
    assert isinstance(called, AIMessage)
    assert (called.text, called.tool_calls) == ("", [])


def test_refusal() -> None:
    with served(refusal("No."), refusal("No."), replies=2) as server:
        reply = chat_client(server).invoke(prompt())
        assert (reply.text, reply.additional_kwargs["refusal"]) == ("", "No.")
        message = post_chat(server).json()["choices"][0]["message"]
    assert message["content"] is None
    assert message["refusal"] == "No."


@pytest.mark.parametrize("fault", [thinking(), fenced()])
def test_json_wrapped_in_other_text(fault: Fault) -> None:
    with served(fault, fault, replies=2) as server:
        text = chat_client(server).invoke(prompt()).text
        assert FOUND in text
        assert text.startswith(("<think>", "Here is"))
        with pytest.raises((OutputParserException, ValidationError, ValueError)):
            chat_client(server).with_structured_output(Person, method="json_schema").invoke(prompt())


def test_rule_for_a_role_after_the_queue() -> None:
    roles = [
        "m/decide",
        *["migres/extract"] * 2,
        "migres/decide",
        *["migres/extract"] * 2,
        "x/final",
        "y/final",
    ]
    with served(server_error(503), None, replies=9) as server:
        server.fail_when("migres/extract", server_error(500), times=2)
        server.fail_when(lambda request: request.role.endswith("/final"), rate_limited())
        statuses = [
            post_chat(server, messages=[{"role": "system", "content": f"Role: {role}"}]).status_code for role in roles
        ]
        assert statuses == [503, 200, 500, 200, 500, 200, 429, 429]
        server.forget_faults()
        assert post_chat(server, messages=[{"role": "system", "content": "Role: x/final"}]).status_code == 200


def test_fault_is_not_used_up_by_a_wrong_key() -> None:
    server = OpenAIServer(ScriptedChatModel(replies=[]), api_key="right")
    server.fail_next(server_error(503))
    with server:
        assert post_chat(server).status_code == 401
        with pytest.raises(openai.InternalServerError):
            chat_client(server, api_key="right").invoke(prompt())
