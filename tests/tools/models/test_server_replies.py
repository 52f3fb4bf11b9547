"""What servers of OpenAI's form say, however oddly, over real HTTP: replies are read, errors are what they say."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from hopgraph.state import ModelError
from hopgraph.tools.models import Sampling, UnusableReplyError, parse_reply, resolve_model
from hopgraph.tools.models.reply_cache import ModelReply
from hopgraph.tools.models.send import SendOptions, send
from support.servers.loopback import LoopbackServer

MESSAGES: list[BaseMessage] = [SystemMessage("Say it."), HumanMessage("Wo ist Köln?")]
RECORD = {"knowledge": "Am Rhein."}
TEXT = json.dumps(RECORD)
Answer = Callable[[dict[str, Any], int], Any]


class Known(BaseModel):
    knowledge: str


def completion(content: Any = None, *, finish: str = "stop", usage: Any = None, **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    return {
        "id": "1",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": usage or {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def call(arguments: Any, content: Any = None) -> dict[str, Any]:
    made = {"id": "1", "type": "function", "function": {"name": "Known", "arguments": arguments}}
    return completion(content, finish="tool_calls", tool_calls=[made])


def refused(status: int, message: str, **more: Any) -> tuple[int, Any]:
    return status, {"error": {"message": message, "type": "invalid_request_error", **more}}


async def ask(answer: Answer, *, times: int = 1, streamed: bool = False) -> tuple[ModelReply, list[dict[str, Any]]]:
    """Return the last of so many replies, and the bodies of all requests."""
    seen: list[dict[str, Any]] = []

    async def app(scope: Scope, receive: Receive, reply_to: Send) -> None:
        seen.append(await Request(scope, receive).json())
        answered = answer(seen[-1], len(seen))
        status, body = answered if isinstance(answered, tuple) else (200, answered)
        await JSONResponse(body, status, {"retry-after": "0"})(scope, receive, reply_to)

    options = SendOptions(parallel=1, retries=2, on_text=(lambda text: None) if streamed else None)
    with LoopbackServer(app) as server:
        handle = await resolve_model(f"openai:m?base_url={server.url}/v1", Sampling())
        try:
            for _ in range(times):
                reply = await send(handle, MESSAGES, Known, options)
        except ModelError as error:
            raise ModelError(f"{len(seen)} requests: {error}", error.trouble) from None
    return reply, seen  # pyright: ignore[reportPossiblyUnboundVariable]


@pytest.mark.parametrize(
    "reply",
    [
        call(RECORD),
        call(TEXT),
        call(json.dumps(TEXT)),
        call(json.dumps({"parameters": RECORD})),
        call("", TEXT),
        completion(None, function_call={"name": "Known", "arguments": TEXT}),
        completion(json.dumps({"name": "Known", "arguments": TEXT})),
        completion(f"<tool_call>{json.dumps({'name': 'Known', 'arguments': RECORD})}</tool_call>"),
        completion(json.dumps({"Known": RECORD})),
        completion(json.dumps({"type": "object", "properties": RECORD})),
        completion('{"Knowledge": "Am Rhein."}'),
        completion('{"knowledge": ["Am Rhein."]}'),
        completion(TEXT + "\n" * 400, finish="length"),
        completion(TEXT, finish="content_filter"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_what_can_be_read_is_read_at_once(reply: Any, streamed: bool) -> None:
    said, seen = await ask(lambda body, number: reply, streamed=streamed)
    assert not said.problem
    assert parse_reply(said.text, Known) == Known(**RECORD)
    assert len(seen) == 1


@pytest.mark.parametrize("arguments", ["[1]", "3", "null", '"x"', [1], 3])
async def test_what_cannot_be_read_is_an_unusable_reply_and_no_outage(arguments: Any) -> None:
    said, seen = await ask(lambda body, number: call(arguments))
    with pytest.raises(UnusableReplyError):
        parse_reply(said.text, Known)
    assert len(seen) == 1


async def test_an_unfinished_record_is_cut_off() -> None:
    said, _ = await ask(lambda body, number: completion(TEXT[:-3], finish="length"))
    assert said.problem


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 10.0, "completion_tokens": 5.0}, (10, 5)),
        ({"prompt_tokens": "10", "completion_tokens": "5"}, (10, 5)),
        ({"input_tokens": 10, "output_tokens": 5}, (10, 5)),
        ({"prompt_tokens": -1, "completion_tokens": 5}, None),
        ({"prompt_tokens": 10.25, "completion_tokens": 5}, None),
        ({"prompt_tokens": None, "completion_tokens": None}, None),
        ({"total_tokens": 700}, None),
    ],
)
async def test_odd_counts_are_read_or_estimated(usage: Any, counted: tuple[int, int] | None) -> None:
    said, seen = await ask(lambda body, number: completion(TEXT, usage=usage))
    if counted:
        assert (said.prompt_tokens, said.completion_tokens) == counted
    assert said.prompt_tokens > 0
    assert said.completion_tokens > 0
    assert len(seen) == 1


@pytest.mark.parametrize("code", ["json_validate_failed", "tool_use_failed"])
async def test_a_record_that_the_server_refuses_is_an_unusable_reply(code: str) -> None:
    failed = refused(400, "Failed to generate JSON", code=code, failed_generation="not json")

    def answer(body: dict[str, Any], number: int) -> Any:
        return failed if number == 1 else completion(TEXT)

    said, seen = await ask(answer)
    assert (said.text, len(seen)) == ("not json", 1)
    _, seen = await ask(answer, times=2)
    assert seen[0]["response_format"] == seen[1]["response_format"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "It was filtered", "code": "content_filter"}),
        (400, {"message": "This model's maximum context length is 512 tokens", "code": "context_length_exceeded"}),
        (404, {"message": "The model `m` does not exist", "code": "model_not_found"}),
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}),
        (200, {"message": "No such key", "code": 401}),
        (200, {"message": "Not paid", "code": "402"}),
        (200, "Unexpected endpoint or method. (POST /chat/completions)"),
    ],
)
async def test_what_will_not_change_is_asked_for_once(status: int, error: Any) -> None:
    with pytest.raises(ModelError, match=r"^1 requests") as caught:
        await ask(lambda body, number: (status, {"error": error}))
    assert caught.value.trouble != "outage"
    said = error if isinstance(error, str) else error["message"]
    assert said in str(caught.value)
    assert "{'" not in str(caught.value)


@pytest.mark.parametrize(
    "failure",
    [(status, {}) for status in (408, 425, 429, 499, 500, 502, 520, 524, 530)]
    + [(200, {"error": {"message": "Slow down", "code": 429}}), (200, {"error": {"message": "Down", "status": 503}})],
)
async def test_what_may_pass_is_asked_for_again(failure: Any) -> None:
    said, seen = await ask(lambda body, number: failure if number == 1 else completion(TEXT))
    assert (said.text, len(seen)) == (TEXT, 2)


@pytest.mark.parametrize("status", [501, 505])
async def test_what_a_server_never_does_is_no_outage(status: int) -> None:
    with pytest.raises(ModelError) as caught:
        await ask(lambda body, number: refused(status, "never"))
    assert caught.value.trouble == ""


@pytest.mark.parametrize("status", [200, 400])
async def test_a_schema_that_is_refused_is_left_out(status: int) -> None:
    """Also by a gateway that passes the refusal on with status 200."""
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": "Unknown name maxLength"}}

    def answer(body: dict[str, Any], number: int) -> Any:
        return (status, {"error": error}) if "response_format" in body else completion(TEXT)

    said, seen = await ask(answer, times=2)
    assert (said.text, len(seen), "tools" in seen[-1]) == (TEXT, 4, True)
