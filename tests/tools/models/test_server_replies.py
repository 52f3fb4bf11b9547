"""What servers of OpenAI's form say, however oddly, over real HTTP: replies are read, errors are what they say."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from pydantic import BaseModel, SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from hopgraph.state import ModelError
from hopgraph.tools.models import Sampling, UnusableReplyError, parse_reply, resolve_model
from hopgraph.tools.models.completions import TextRequest, complete
from hopgraph.tools.models.reply_cache import ModelReply
from hopgraph.tools.models.send import FailedRequest, SendOptions, send
from hopgraph.tools.models.tool_calls import ToolsRefusedError, ToolTurn, call_tools
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


def made_call(arguments: Any) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": "Known", "arguments": arguments}}


def call(arguments: Any, content: Any = None) -> dict[str, Any]:
    return completion(content, finish="tool_calls", tool_calls=[made_call(arguments)])


def refused(status: int, message: str, **more: Any) -> tuple[int, Any]:
    return status, {"error": {"message": message, "type": "invalid_request_error", **more}}


@tool
def find(query: str) -> str:
    """Find."""
    return query


FOUND = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"query": "Köln"}'}}


async def ask(
    answer: Answer,
    *,
    times: int = 1,
    retries: int = 2,
    streamed: bool = False,
    azure: bool = False,
    tools: bool = False,
    **more: Any,
) -> tuple[ModelReply, list[dict[str, Any]]]:
    """Return the last of so many replies, and the bodies of all requests; `more` are further options.

    With `tools`, the model is asked to call `find`.
    """
    seen: list[dict[str, Any]] = []

    async def app(scope: Scope, receive: Receive, reply_to: Send) -> None:
        seen.append(await Request(scope, receive).json())
        answered = answer(seen[-1], len(seen))
        if not isinstance(answered, Response):
            status, body = answered if isinstance(answered, tuple) else (200, answered)
            answered = JSONResponse(body, status, {"retry-after": "0"})
        await answered(scope, receive, reply_to)

    options = SendOptions(parallel=1, retries=retries, on_text=(lambda text: None) if streamed else None, **more)
    with LoopbackServer(app) as server:
        model: Any = f"openai:m?base_url={server.url}/v1"
        if azure:
            key, version = SecretStr("none"), "2024-08-01-preview"
            model = AzureChatOpenAI(azure_endpoint=server.url, azure_deployment="m", api_version=version, api_key=key)
        handle = await resolve_model(model, Sampling(seed=7))
        try:
            for _ in range(times):
                reply = await (
                    call_tools(handle, MESSAGES, [find], options) if tools else send(handle, MESSAGES, Known, options)
                )
        except ToolsRefusedError:
            raise
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
        completion(TEXT + '{"type": "object", "properties": {"knowledge": {"type": "string"}}}'),
        completion(TEXT + "\n" * 400, finish="length"),
        completion(f"```json\n{TEXT}\n", finish="length"),
        completion(f"<think>no</think>Here: {TEXT}\nThat is beca", finish="model_length"),
        completion(f"{TEXT}\n{TEXT}\n{TEXT[:9]}", finish="MAX_TOKENS"),
        completion(TEXT, finish="content_filter"),
        completion(TEXT, finish="abort"),
        completion([{"type": "text", "text": TEXT[:9]}, {"type": "text", "text": TEXT[9:]}]),
        completion([{"type": "thinking", "thinking": [{"text": "{}"}]}, {"type": "output_text", "text": TEXT}]),
        completion([{"text": TEXT}]),
        completion({"type": "text", "text": TEXT}),
        completion([RECORD]),
        completion(TEXT, role="model"),
        completion(None, tool_calls=[{"id": 7, "function": {"name": "Known", "parameters": RECORD}}]),
        completion(None, tool_calls=[{"type": "tool_use", "name": "Known", "input": RECORD}]),
        completion(None, tool_calls=[made_call(""), made_call(TEXT)]),
        completion(None, tool_calls=[made_call(TEXT), made_call('{"thought": "none"}')]),
        completion(None, tool_calls=[made_call('{"thought": "none"}'), made_call(TEXT)]),
        completion('<|tool_call>call:Known{knowledge:<|"|>Am Rhein.<|"|>}<tool_call|>'),
        completion("\n\n", reasoning_content=TEXT),
        completion("", reasoning_details=[{"type": "reasoning.text", "text": TEXT}]),
        completion(None, reasoning_content=TEXT),
        completion("", reasoning=TEXT),
        {**completion(TEXT), "id": 7, "created": "1", "model": None, "system_fingerprint": {}},
        {"choices": [{"text": TEXT}]},
        {"choices": [{"delta": {"content": TEXT}}]},
        {"code": 0, "data": completion(TEXT)},
        [completion(TEXT)],
        {**completion(TEXT), "error": {"code": 0, "message": ""}},
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_what_can_be_read_is_read_at_once(reply: Any, streamed: bool) -> None:
    said, seen = await ask(lambda body, number: reply, streamed=streamed)
    assert not said.problem
    assert parse_reply(said.text, Known) == Known(**RECORD)
    in_reasoning = "reasoning" in json.dumps(reply)  # which is read of whole replies only
    assert len(seen) == 1 + (streamed and in_reasoning)


@pytest.mark.parametrize("finish", ["length", "model_length", "token_limit"])
async def test_a_record_that_is_cut_off_is_never_mended(finish: str) -> None:
    said, _ = await ask(lambda body, number: completion('{"knowledge": "Am Rh', finish=finish))
    assert said.problem
    said, _ = await ask(lambda body, number: completion(f'{{"knowledge": "draft"}} no: {TEXT[:-2]}', finish=finish))
    assert said.problem


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (completion([{"type": "refusal", "refusal": "I will not."}]), "the model refused: I will not."),
        (completion("", finish="sensitive"), "filter"),
        (completion("", finish="guardrail_intervened"), "filter"),
        (completion("", finish="refusal"), "filter"),
        (completion('{"knowledge": "Am', finish="model_context_window_exceeded"), "cut off"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_reply_without_a_record_says_why(reply: Any, problem: str, streamed: bool) -> None:
    said, _ = await ask(lambda body, number: reply, streamed=streamed)
    assert problem in said.problem


async def test_a_refusal_of_the_responses_api_is_shown() -> None:
    part = {"type": "refusal", "refusal": "I will not."}
    said = {"type": "message", "id": "1", "role": "assistant", "status": "completed", "content": [part]}
    reply = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [said]}

    async def app(scope: Scope, receive: Receive, reply_to: Send) -> None:
        await JSONResponse({**reply, "tools": [], "tool_choice": "auto"})(scope, receive, reply_to)

    with LoopbackServer(app) as server:
        model = ChatOpenAI(base_url=f"{server.url}/v1", model="m", api_key=SecretStr("none"), use_responses_api=True)
        handle = await resolve_model(model, Sampling())
        answered = await send(handle, MESSAGES, Known, SendOptions(parallel=1, retries=0))
    assert answered.problem == "the model refused: I will not."


@pytest.mark.parametrize("finish", ["error", "abort", "insufficient_system_resource"])
async def test_a_reply_that_its_server_broke_off_is_asked_for_again(finish: str) -> None:
    half = completion('{"knowledge": "Am Rh', finish=finish)
    said, seen = await ask(lambda body, number: half if number == 1 else completion(TEXT))
    assert (said.text, len(seen)) == (TEXT, 2)


@pytest.mark.parametrize("arguments", ["[1]", "3", "null", '"x"', [1], 3])
async def test_what_cannot_be_read_is_an_unusable_reply_and_no_outage(arguments: Any) -> None:
    said, seen = await ask(lambda body, number: call(arguments))
    with pytest.raises(UnusableReplyError):
        parse_reply(said.text, Known)
    assert len(seen) == 1


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
        (200, {"message": "who are you", "status": "UNAUTHENTICATED"}),
        (200, {"message": '{"error": {"message": "No such key"}}', "code": 401}),
        (400, {"message": "Model 'm' is not loaded"}),
        (400, {"message": "m is not a valid model ID"}),
        (400, {"message": "m is not a chat model"}),
        (400, {"message": "No such model m or task"}),
        (400, {"message": "The provided model identifier is invalid."}),
        (400, {"message": "m is no longer offered", "code": "model_decommissioned"}),
        (400, {"message": "Multiple models are loaded. Please specify a model."}),
        (400, {"message": "User location is not supported for the API use."}),
        (404, {"message": "models/m is not found for API version v1, or is not supported. See its supported methods."}),
        (404, {"message": "Unable to access model m. Visit the list of supported models for more information."}),
        (404, {"message": "This is not supported in the v1/chat/completions endpoint"}),
        (404, {"message": "The given endpoint does not exist, please retry after checking its name"}),
        (400, {"message": "Content Exists Risk"}),
        (400, {"message": "Please reduce the length of the messages"}),
        (400, {"message": "Range of input length should be [1, 30720]"}),
        (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000"),
        (413, {"message": "Request too large for m on tokens per minute", "code": "rate_limit_exceeded"}),
        (400, {"message": "Your request exceeded model token limit: 8192 (requested: 9000)"}),
        (400, {"message": "length of prompt_tokens (9000) must be less than max_seq_len (8192)."}),
    ],
)
async def test_what_will_not_change_is_asked_for_once(status: int, error: Any) -> None:
    with pytest.raises(ModelError, match=r"^1 requests") as caught:
        await ask(lambda body, number: (status, {"error": error}))
    assert caught.value.trouble != "outage"
    said = error if isinstance(error, str) else error["message"]
    assert said in str(caught.value) or "No such key" in str(caught.value)
    assert "{'" not in str(caught.value)
    assert '{"' not in str(caught.value)


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize(
    "body",
    [
        {"detail": "No access"},
        {"message": "No access", "code": 403},
        {"object": "error", "message": "No access", "code": 403},
        {"success": False, "errors": [{"code": 403, "message": "No access"}], "result": None},
        [{"error": {"code": 403, "message": "No access"}}],
        {"code": 403, "msg": "No access"},
        {"choices": None, "base_resp": {"status_code": 403, "status_msg": "No access"}},
        {"detail": [{"loc": ["body", "key"], "msg": "No access", "type": "forbidden"}]},
        {"choices": [{"message": {"content": ""}, "error": {"code": 403, "message": "No access"}}]},
    ],
)
async def test_an_error_of_any_form_is_shown_as_its_words(status: int, body: Any) -> None:
    with pytest.raises(ModelError, match=r"^1 requests.*No access") as caught:
        await ask(lambda asked, number: (status, body))
    assert '{"' not in str(caught.value) or "choices" in str(body)


@pytest.mark.parametrize(
    "failure",
    [(status, {}) for status in (408, 423, 424, 425, 429, 499, 500, 502, 520, 524, 530)]
    + [
        (200, {"error": {"message": "Slow down", "code": 429}}),
        (200, {"error": {"message": "Down", "status": 503}}),
        (200, {"error": {"message": "Quota", "status": "RESOURCE_EXHAUSTED"}}),
        (200, {"detail": "Server is busy"}),
        (200, {"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": {"code": 502}}]}),
        (200, {"choices": []}),
        (200, None),
        (413, {"error": {"message": "Rate limit reached: Limit 9, Used 8, Requested 2."}}),
        (498, {"error": {"message": "Flex tier capacity exceeded"}}),
        (430, {"error": {"message": "Too many requests"}}),
        (400, {"error": {"message": "ThrottlingException: Too many tokens, please wait before trying again."}}),
        (400, {"error": {"message": "Provider is at capacity"}}),
    ],
)
async def test_what_may_pass_is_asked_for_again(failure: Any) -> None:
    said, seen = await ask(lambda body, number: failure if number == 1 else completion(TEXT))
    assert (said.text, len(seen)) == (TEXT, 2)


@pytest.mark.parametrize(("status", "trouble"), [(500, "outage"), (501, ""), (505, "")])
async def test_what_a_server_never_does_is_no_outage(status: int, trouble: str) -> None:
    with pytest.raises(ModelError) as caught:
        await ask(lambda body, number: refused(status, "Internal error"))
    assert caught.value.trouble == trouble


@pytest.mark.parametrize(
    "words",
    [
        "Model m: response_format is not supported",
        "The schema of a string has maxLength, which is not allowed",
        "Invalid parameter for model m: json_schema",
        "For model m, json_schema is deprecated",
        "Unknown parameter for model m: response_format; for more information see its supported parameters",
    ],
)
async def test_words_on_a_model_and_lengths_may_be_about_the_format(words: str) -> None:
    said, _ = await ask(lambda body, number: refused(400, words) if "response_format" in body else completion(TEXT))
    assert said.text == TEXT


@pytest.mark.parametrize("written", [json.dumps, str])
@pytest.mark.parametrize("inside", [False, True])
async def test_what_a_refusal_repeats_of_the_prompt_is_no_word_of_the_server(
    written: Callable[[Any], str], inside: bool
) -> None:
    """As pydantic's errors do, in a field of theirs or all in one text (vLLM, NVIDIA)."""
    quoted = "insufficient quota; model m was not found; context length; rate limit, try again later; flagged"

    def answer(body: dict[str, Any], number: int) -> Any:
        sent = {**body, "messages": [{"content": quoted, "role": "system"}]}
        error = {"loc": ["body"], "msg": "Value error, response_format is not supported", "input": sent}
        repeated = {"detail": [error]} if not inside else {"message": written([error]), "code": 400}
        return (400, repeated) if "response_format" in body else completion(TEXT)

    said, seen = await ask(answer)
    assert said.text == TEXT
    assert "temperature" in seen[-1]
    assert seen[-1]["messages"][0]["role"] == "system"


@pytest.mark.parametrize("words", ["Input should be less than or equal to 120", "is deprecated for model m"])
async def test_words_on_a_limit_may_be_those_of_a_prompt(words: str) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        return refused(400, f"max_tokens: {words}") if body.get("max_tokens", 0) > 120 else completion(TEXT)

    said, seen = await ask(answer)
    assert (said.text, len(seen)) == (TEXT, 2)


@pytest.mark.parametrize("status", [200, 400])
async def test_a_schema_that_is_refused_is_left_out(status: int) -> None:
    """Also by a gateway that passes the refusal on with status 200."""
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": "Unknown name maxLength"}}

    def answer(body: dict[str, Any], number: int) -> Any:
        return (status, {"error": error}) if "response_format" in body else completion(TEXT)

    said, seen = await ask(answer, times=2)
    assert (said.text, len(seen), "tools" in seen[-1]) == (TEXT, 4, True)


LIMITS = ("max_tokens", "max_completion_tokens")


def limit_sent(body: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in LIMITS if name in body)


@pytest.mark.parametrize("azure", [False, True])
@pytest.mark.parametrize("refused_names", [LIMITS[:1], LIMITS[1:], LIMITS])
@pytest.mark.parametrize("status", [200, 400, 422])
async def test_a_limit_is_sent_by_the_other_name_then_left_out_and_that_is_learnt_once(
    azure: bool, refused_names: tuple[str, ...], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        named = [name for name in refused_names if name in body]
        said = f"Unrecognized request argument supplied: {named[0]}" if named else ""
        return refused(status, said, code=400) if named else completion(TEXT)

    names = LIMITS[::-1] if azure else LIMITS
    said, seen = await ask(answer, times=2, azure=azure)
    taken = [(name,) for name in names if name not in refused_names][:1] or [()]
    tries = [(name,) for name in names[: names.index(taken[0][0]) if taken[0] else 2]]
    assert [limit_sent(body) for body in seen] == [*tries, *taken * 2]
    assert said.text == TEXT
    assert len({json.dumps(body["response_format"]) for body in seen}) == 1
    assert len(caplog.messages) == len(tries)


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: {}. This model supports at most 120 completion tokens",
        "`max_tokens` must be less than or equal to `120`, the maximum value for `max_tokens`",
        "max_tokens: {} > 120, which is the maximum allowed number of output tokens for m-4-32000",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 120]",
        "The maximum tokens you requested exceeds the model limit of 120.",
        "`max_tokens` must be less than or equal to `120`, which is less than the `context_window` for this model",
        "max_tokens ({}) cannot exceed 120. Please reduce the length of max output tokens generated.",
        "too many tokens: max tokens must be less than or equal to 120, the maximum output length - received {}.",
        "maximum number of output tokens is 120",
    ],
)
async def test_a_limit_above_the_models_is_lowered_to_it(words: str) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        return refused(400, words.format(body["max_tokens"])) if body["max_tokens"] > 120 else completion(TEXT)

    _, seen = await ask(answer, times=2)
    assert [body["max_tokens"] for body in seen[1:]] == [120, 120]


@pytest.mark.parametrize(
    "words",
    [
        "'max_tokens' is too large: {0}. This model's maximum context length is 1100 tokens and your request has 900 "
        "input tokens ({0} > 1100 - 900).",
        "This model's maximum context length is 1100 tokens. However, you requested {1} tokens (900 in the messages, "
        "{0} in the completion). Please reduce the length of the messages or completion.",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 1100. Given: 900 `inputs` tokens and "
        "{0} `max_new_tokens`",
        "Requested token count exceeds the model's maximum context length of 1,100 tokens. You requested a total "
        "of {1} tokens: 900 tokens from the input messages and {0} tokens for the completion.",
        "This endpoint's maximum context length is 1100 tokens. However, you requested about {1} tokens (900 of text "
        "input, {0} in the output).",
        "input length and `max_tokens` exceed context limit: 900 + {0} > 1100, decrease either",
    ],
)
async def test_a_limit_beyond_what_a_long_prompt_leaves_is_lowered_for_that_prompt_alone(words: str) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        sent = body["max_tokens"]
        long = number <= 2 and sent > 200
        return refused(400, words.format(sent, 900 + sent)) if long else completion(TEXT)

    _, seen = await ask(answer, times=2, max_output_tokens=500)
    assert [body["max_tokens"] for body in seen] == [500, 200, 500]


@pytest.mark.parametrize("prompt", [900, 1090])
async def test_a_server_that_counts_a_prompt_no_further_than_its_limit_is_asked_few_times(prompt: int) -> None:
    """As vLLM, whose count is "at least" what does not fit, so that the difference is one token each time."""

    def answer(body: dict[str, Any], number: int) -> Any:
        sent = body["max_tokens"]
        words = (
            f"This model's maximum context length is 1100 tokens. However, you requested {sent} output tokens and your "
            f"prompt contains at least {1101 - sent} input tokens, for a total of at least 1101 tokens."
        )
        return refused(400, words) if prompt + sent > 1100 else completion(TEXT)

    if prompt == 900:
        _, seen = await ask(answer, max_output_tokens=500)
        assert [body["max_tokens"] for body in seen] == [500, 250, 125]
    else:
        with pytest.raises(ModelError, match=r"^5 requests.*context length is 1100"):
            await ask(answer, max_output_tokens=500)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Unsupported value: 'temperature' does not support 0 with this model. Only the default is supported."),
        (422, "Input validation error: `temperature` must be strictly positive"),
        (200, "temperature is not supported by this model"),
        (500, "UnsupportedParamsError: m does not support parameters: ['temperature']"),
    ],
)
async def test_a_temperature_that_is_refused_is_left_out(
    status: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        return refused(status, words, code=400) if "temperature" in body else completion(TEXT)

    _, seen = await ask(answer, times=2, sampling=(("temperature", 0.5), ("top_p", 0.5)))
    assert [body.get("temperature") for body in seen] == [0.5, None, None]
    assert [(body["top_p"], body["seed"]) for body in seen] == [(0.5, 7)] * 3
    assert "temperature" in "".join(caplog.messages)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    "words",
    [
        "This model only support stream mode, please enable the stream parameter to access the model.",
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "enable thinking can not be support when `stream=False`.",
        "Stream must be set to true",
    ],
)
async def test_a_model_that_only_streams_is_asked_for_streams(words: str, caplog: pytest.LogCaptureFixture) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        return Response(STREAMS["plain"]) if body["stream"] else refused(400, words)

    said, seen = await ask(answer, times=2)
    assert (said.text, [body["stream"] for body in seen]) == (TEXT, [False, True, True])
    assert seen[0]["response_format"] == seen[-1]["response_format"]
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"param": "seed"},
        {"details": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]},
        {"details": [{"fieldViolations": [{"field": "seed", "description": "Cannot find field."}]}]},
    ],
)
async def test_a_parameter_that_only_the_bodys_field_names_is_left_out(fields: dict[str, Any]) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        return refused(400, "Unsupported parameter", **fields) if "seed" in body else completion(TEXT)

    _, seen = await ask(answer, times=2)
    assert ["seed" in body for body in seen] == [True, False, False]


async def test_parameters_that_a_refused_format_is_listed_with_stay() -> None:
    words = "Unknown parameter: response_format; valid: messages, temperature, max_tokens, seed, system messages"

    def answer(body: dict[str, Any], number: int) -> Any:
        return refused(400, words) if "response_format" in body else completion(TEXT)

    _, seen = await ask(answer)
    assert all({"temperature", "max_tokens", "seed"} <= body.keys() for body in seen)
    assert seen[-1]["messages"][0]["role"] == "system"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "System role not supported"),
        (500, "System role not supported"),
        (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
        (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (422, "Only user and assistant roles are supported!"),
        (200, "This model does not support system prompts"),
        (400, "Only user, assistant and tool roles are supported!"),
        (400, "First message must be from user"),
        (400, "Please use a valid role: user, model."),
        (422, "messages.0.role: Input should be 'user' or 'assistant'"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_what_a_refused_system_message_says_begins_the_first_message_of_the_user(
    status: int, words: str, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        roles = [each["role"] for each in body["messages"]]
        return refused(status, words, code=400) if roles != ["user"] else completion(TEXT)

    said, seen = await ask(answer, times=2, streamed=streamed)
    texts = [[each["content"] for each in body["messages"]] for body in seen if len(body["messages"]) == 1]
    assert (said.text, texts) == (TEXT, [["Say it.\n\nWo ist Köln?"]] * 2)
    assert len({json.dumps(body["response_format"]) for body in seen}) == 1
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("status", "error", "trouble"),
    [
        (400, {"message": "Your credit balance is too low to access the API"}, "refusal"),
        (400, {"message": "API key not valid. Please pass a valid API key."}, "refusal"),
        (403, {"message": "Insufficient funds"}, "refusal"),
        (429, {"message": "Insufficient balance, please recharge"}, "refusal"),
        (429, {"message": "余额不足或无可用资源包,请充值。"}, "refusal"),
        (
            429,
            {"message": "Your team has used all available credits or reached its monthly spending limit."},
            "refusal",
        ),
        (400, {"message": "Budget has been exceeded! Current cost: 1.2, Max budget: 1.0"}, "refusal"),
        (400, {"message": "Please make sure your account is in good standing.", "code": "Arrearage"}, "refusal"),
        (403, {"message": "m requires moderation. Your input was flagged for violence"}, ""),
        (424, {"message": "Prompt blocked due to security configurations"}, ""),
        (400, {"message": "The prompt exceeds the context window"}, ""),
        (500, {"message": "the request exceeds the available context size"}, ""),
    ],
)
async def test_a_permanent_error_of_any_status_is_asked_for_once(status: int, error: Any, trouble: str) -> None:
    with pytest.raises(ModelError, match=r"^1 requests") as caught:
        await ask(lambda body, number: (status, {"error": error}))
    assert caught.value.trouble == trouble


@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize("words", ["Model is overloaded", "Please try again later", "The model is loading"])
async def test_a_400_that_says_that_it_passes_is_retried_in_the_same_way(status: int, words: str) -> None:
    said, seen = await ask(lambda body, number: refused(status, words) if number == 1 else completion(TEXT))
    assert (said.text, len(seen)) == (TEXT, 2)
    assert seen[0]["response_format"] == seen[1]["response_format"]


@pytest.mark.parametrize("status", [400, 500])
async def test_one_refusal_without_a_word_on_the_format_does_not_weaken_it(status: int) -> None:
    """A second one does: then it is no matter of one prompt."""

    def once(body: dict[str, Any], number: int) -> Any:
        return refused(status, "Bad request") if number <= (3 if status == 500 else 1) else completion(TEXT)

    _, seen = await ask(once, times=2)
    assert seen[-1]["response_format"] == seen[0]["response_format"]

    def always(body: dict[str, Any], number: int) -> Any:
        return refused(status, "Bad request") if "response_format" in body else completion(TEXT)

    said, seen = await ask(always, times=3)
    assert said.text == TEXT
    assert "response_format" not in seen[-1]


@pytest.mark.parametrize("retry_after", ["7200", "Wed, 21 Oct 2099 07:28:00 GMT"])
async def test_a_wait_of_hours_is_not_waited_for_but_told(retry_after: str) -> None:
    limited = {"error": {"message": "Tokens per day are used up"}}
    with pytest.raises(ModelError, match=r"^1 requests.*asks to wait") as caught:
        await ask(lambda body, number: JSONResponse(limited, 429, {"retry-after": retry_after}))
    assert caught.value.trouble == "outage"
    assert retry_after != "7200" or "2:00:00" in str(caught.value)


class NotedError(Exception):
    """Ends a request in place of a wait."""


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"message": "Too many requests, please try again after 3 seconds"}, 3),
        ({"message": "Slow down: please wait 10 seconds"}, 10),
        ({"message": "Slow down", "retry_after": 7}, 7),
    ],
)
async def test_a_wait_in_an_errors_words_or_fields_is_waited_for(error: Any, seconds: float) -> None:
    def note(failed: FailedRequest) -> None:
        raise NotedError(failed.wait)

    with pytest.raises(NotedError) as noted:
        await ask(lambda body, number: JSONResponse({"error": error}, 429), on_retry=note)
    assert noted.value.args == (seconds,)


async def test_a_wait_in_headers_within_the_body_is_told() -> None:
    error = {"message": "Slow down", "metadata": {"headers": {"X-RateLimit-Reset": "99999999999999"}}}
    with pytest.raises(ModelError, match="asks to wait 30 days"):
        await ask(lambda body, number: JSONResponse({"error": error}, 429))


def events(*values: Any, end: str = "\n\n", last: str = "data: [DONE]\n\n") -> str:
    return "".join(f"data: {json.dumps(each)}{end}" for each in values) + last


async def read_events(
    body: str, *, streamed: bool = True, media_type: str = "text/event-stream", times: int = 1
) -> tuple[ModelReply, int]:
    """Return the reply to requests, of which the first ones are answered by a body, and how many were sent."""

    def answer(_asked: dict[str, Any], number: int) -> Any:
        return Response(body, media_type=media_type) if number <= times else completion(TEXT)

    said, seen = await ask(answer, streamed=streamed)
    return said, len(seen)


CHUNK = {
    "id": "1",
    "object": "chat.completion.chunk",
    "model": "m",
    "choices": [{"index": 0, "delta": {"content": "{"}}],
}


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Slow down", "code": 429},
        {"message": "Overloaded", "type": "overloaded_error"},
        {"message": "It broke", "type": "server_error"},
        "Please try again later",
    ],
)
@pytest.mark.parametrize("begun", [[], [CHUNK]])
async def test_an_error_within_a_stream_that_may_pass_is_retried(error: Any, begun: list[Any]) -> None:
    said, requests = await read_events(events(*begun, {"error": error}, last=""))
    assert (said.text, requests) == (TEXT, 2)


@pytest.mark.parametrize(
    "error", [{"message": "No such key", "code": 401}, {"message": "It was flagged", "code": "content_filter"}]
)
async def test_an_error_within_a_stream_that_will_not_change_ends_it(error: Any) -> None:
    with pytest.raises(ModelError, match=f"^1 requests.*{error['message']}") as caught:
        await read_events(events({"error": error}, last=""), times=9)
    assert caught.value.trouble != "outage"


async def test_a_format_that_is_refused_within_a_stream_is_left_out() -> None:
    refusal = {"error": {"message": "response_format is not supported", "code": 400}}
    said, requests = await read_events(events(refusal, last=""))
    assert (said.text, requests) == (TEXT, 2)


def piece(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


PIECES = [
    piece({"role": "assistant", "content": None}),
    *(piece({"content": TEXT[n : n + 5]}) for n in range(0, 26, 5)),
]


def called(**given: Any) -> dict[str, Any]:
    function = {"name": "Known", "arguments": given.pop("arguments", TEXT)}
    return piece({"tool_calls": [{"id": "1", "type": "function", "function": function, **given}]})


STOP = piece({}, "stop")
USAGE = {"prompt_tokens": 100, "completion_tokens": 7}
STREAMS = {
    "plain": events(*PIECES, STOP),
    "no end": events(*PIECES, STOP, last=""),
    "another end": events(*PIECES, STOP, last="data: [done]\n\n"),
    "no finish reason": events(*PIECES),
    "CRLF": events(*PIECES, STOP, end="\r\n\r\n"),
    "CR": events(*PIECES, STOP, end="\r\r"),
    "one line each": events(*PIECES, STOP, end="\n"),
    "BOM": "\ufeff" + events(piece({"content": TEXT}), STOP),
    "empty data": "data:\n\n" + events(*PIECES, STOP),
    "data twice": events(*PIECES, STOP).replace("data: ", "data: data: "),
    "raw line breaks": json.dumps({**completion(TEXT), "note": "-"}).replace('"-"', '"a\tb\nc"'),
    "calls": events(called(index=0, arguments=""), called(index=1), piece({}, "tool_calls")),
    "names, ids and comments": ": ping\n\nevent: x\nid: 1\nretry: 9\n" + events(*PIECES, STOP) + ": end\n\n",
    "lines of JSON": "\n".join(map(json.dumps, [*PIECES, STOP])),
    "a whole reply": json.dumps(completion(TEXT), indent=1),
    "a message": events({"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]}),
    "parts": events(piece({"content": [{"type": "text", "text": TEXT}]}), STOP),
    "chunks without choices": events({"choices": [], "prompt_filter_results": []}, *PIECES, {"choices": None}, STOP),
    "a call": events(called(arguments=TEXT[:9], index=0), called(arguments=TEXT[9:], index=0), piece({}, "tool_calls")),
    "a call without index": events(called(), piece({}, "tool_calls")),
    "a call with an odd index": events(called(index="0"), piece({}, "tool_calls")),
    "a call with an object": events(called(arguments=RECORD, index=0), piece({}, "tool_calls")),
    "half a call": events(called(index=0), piece({"tool_calls": [{"index": 0, "id": "1"}]}), piece({}, "tool_calls")),
    "counts in each": events(*({**each, "usage": USAGE} for each in [*PIECES, STOP])),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", STREAMS)
async def test_events_are_read_in_any_form_whether_asked_for_or_not(name: str, streamed: bool) -> None:
    media_type = "text/plain" if name == "CR" else "text/event-stream"
    said, requests = await read_events(STREAMS[name], streamed=streamed, media_type=media_type)
    assert parse_reply(said.text, Known) == Known(**RECORD)
    assert requests == 1
    assert name != "counts in each" or (said.prompt_tokens, said.completion_tokens) == (100, 7)


@pytest.mark.parametrize(
    "last",
    [
        "",
        "data: [DONE]\n\n",
        'event: error\ndata: {"message": "It broke", "code": 502}\n\n',
        'data: {"object": "error", "message": "It broke", "code": 500}\n\n',
        'error: {"code": 500, "message": "It broke"}\n\n',
        '{"error": {"code": 503, "message": "It broke"}}\n',
        "data: It broke\n\n",
        events(piece({"content": ""}, "error")),
    ],
)
async def test_a_stream_that_breaks_off_is_no_reply(last: str) -> None:
    said, requests = await read_events(events(*PIECES[:4], last=last))
    assert (said.text, requests) == (TEXT, 2)


async def test_a_server_without_stream_options_streams_without_them() -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        return refused(400, "Unknown: stream_options") if "stream_options" in body else completion(TEXT)

    _, seen = await ask(answer, times=2, streamed=True)
    assert [(body.get("stream"), "stream_options" in body) for body in seen] == [
        (True, True),
        (True, False),
        (True, False),
    ]


async def test_a_server_that_does_not_stream_is_no_longer_asked_to() -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        return refused(400, "no streams here") if body.get("stream") else completion(TEXT)

    _, seen = await ask(answer, times=3, streamed=True)
    assert [bool(body.get("stream")) for body in seen] == [True, False, True, False, False]


@pytest.mark.parametrize("page", ["<!DOCTYPE html><html><title>Log in</title><p>Who are you", "upstream is gone"])
async def test_a_page_in_place_of_a_reply_is_shown_as_its_text(page: str) -> None:
    with pytest.raises(ModelError, match=r"Log in Who are you|upstream is gone") as caught:
        await ask(lambda body, number: Response(page, media_type="text/html"), retries=0)
    assert "<" not in str(caught.value)


async def test_what_the_provider_behind_a_gateway_said_is_shown() -> None:
    """Of any status, and also where it is a body of its own."""
    raw = json.dumps({"error": {"message": "The \x1bprompt exceeds the context window"}})
    with pytest.raises(ModelError, match=r"^1 requests.*error: The prompt exceeds"):
        await ask(lambda body, number: refused(400, "Provider returned error", metadata={"raw": raw}))


async def test_endless_redirects_are_named() -> None:
    with pytest.raises(ModelError, match="redirects"):
        await ask(
            lambda body, number: Response(status_code=307, headers={"location": "/v1/chat/completions"}), retries=0
        )


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 10.0, "completion_tokens": "5"}, (10, 5)),
        ({"prompt_tokens": None, "completion_tokens": None}, (3, 2)),
        ({"total_tokens": 700}, (3, 2)),
        (None, (3, 2)),
    ],
)
@pytest.mark.parametrize("text", ["Am Rhein", None])
async def test_a_written_text_is_read_whatever_its_counts(
    text: str | None, usage: Any, counted: tuple[int, int]
) -> None:
    async def app(scope: Scope, receive: Receive, reply_to: Send) -> None:
        await JSONResponse({"choices": [{"text": text}], "usage": usage})(scope, receive, reply_to)

    with LoopbackServer(app) as server:
        handle = await resolve_model(f"openai:m?base_url={server.url}/v1", Sampling())
        request = TextRequest(prompt="Wo ist Köln", stop=("?",))
        said = await complete(handle, MESSAGES, request, SendOptions(parallel=1, retries=0))
    assert said.text == json.dumps({"text": text or ""}, separators=(",", ":"))
    assert said.prompt_tokens == counted[0]
    assert said.completion_tokens == (counted[1] if text or counted[1] == 5 else 0)


@pytest.mark.parametrize("continuation", ["", " Köln"])
@pytest.mark.parametrize(
    "reply",
    [
        {"error": "Unexpected endpoint or method. (POST /v1/completions)"},
        {"error": {"message": "Invalid URL (POST /v1/completions)"}},
        {"error": {"message": "Not Found", "code": 404}},
        {"error": "no such thing here"},
        {"choices": [{"index": 0, "text": "Köln", "logprobs": None}], "usage": {}},
    ],
)
async def test_a_server_without_log_probabilities_is_told_at_once(continuation: str, reply: Any) -> None:
    asked: list[str] = []

    async def app(scope: Scope, receive: Receive, reply_to: Send) -> None:
        asked.append(scope["path"])
        known = scope["path"] == "/v1/completions" or "error" in reply
        await JSONResponse(reply if known else {"error": "Unexpected endpoint"})(scope, receive, reply_to)

    with LoopbackServer(app) as server:
        handle = await resolve_model(f"openai:m?base_url={server.url}/v1", Sampling())
        with pytest.raises(ModelError) as caught:
            await complete(handle, MESSAGES, TextRequest(continuation), SendOptions(parallel=1, retries=2))
    assert asked in (["/v1/completions"], ["/v1/completions", "/tokenize"])
    assert caught.value.trouble != "outage"


@pytest.mark.parametrize(
    ("refuses", "words"),
    [
        (lambda body: "temperature" in body, "Unsupported value: 'temperature' does not support 0 with this model."),
        (lambda body: "max_tokens" in body, "'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
        (lambda body: body.get("max_tokens", 0) > 99, "max_tokens: at most 99 completion tokens"),
        (lambda body: body["messages"][0]["role"] == "system", "System role not supported"),
        (lambda body: body["tool_choice"] == "required" if "tool_choice" in body else False, "No such tool_choice"),
    ],
)
async def test_what_a_request_with_tools_is_refused_for_is_left_out_as_in_any_other(
    refuses: Callable[[dict[str, Any]], bool], words: str
) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        return refused(400, words) if refuses(body) else completion(finish="tool_calls", tool_calls=[FOUND])

    said, seen = await ask(answer, times=2, tools=True)
    assert [call.args for call in ToolTurn.model_validate_json(said.text).calls] == [{"query": "Köln"}]
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "m does not support tools"),
        (400, "Function calling is not enabled for models/m"),
        (422, "Unrecognized request arguments supplied: functions"),
        (501, "function calling is not implemented"),
        (500, "tools param requires --jinja flag"),
    ],
)
async def test_a_server_that_refuses_tools_is_told_from_one_that_fails(status: int, words: str) -> None:
    with pytest.raises(ToolsRefusedError):
        await ask(lambda body, number: refused(status, words), tools=True)
