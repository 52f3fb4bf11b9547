"""Conversion of a model's message to a chat completion, whole or streamed."""

import json
from collections.abc import Iterator
from dataclasses import replace

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

from support.servers.chat_request import JsonObject
from support.servers.faults import Reply, ToolCallText

_PIECE = 16
"""Characters in one event of a stream."""
_TOKEN = 4
"""Characters of a token, as LangChain estimates it."""


def reply_of(message: AIMessage, prompt: list[BaseMessage]) -> Reply:
    """Return the reply in a LangChain message; token counts are estimated if the model gives none."""
    usage = message.usage_metadata
    calls = tuple(ToolCallText(call["name"], json.dumps(call["args"])) for call in message.tool_calls)
    refused = message.additional_kwargs.get("refusal")
    return Reply(
        text=None if refused else message.text,
        prompt_tokens=usage["input_tokens"] if usage else count_tokens_approximately(prompt),
        completion_tokens=usage["output_tokens"] if usage else count_tokens_approximately([message]),
        tool_calls=calls,
        refusal=str(refused) if refused else None,
        finish_reason="tool_calls" if calls else str(message.response_metadata.get("finish_reason", "stop")),
    )


def as_tool_call(reply: Reply, name: str) -> Reply:
    """Turn the text into the arguments of a forced call; refusals, empty texts and tool calls stay."""
    if not reply.text or reply.tool_calls:
        return reply
    return replace(reply, text=None, tool_calls=(ToolCallText(name, reply.text),))


def cut_to(reply: Reply, limit: int | None) -> Reply:
    """Truncate the text at a token limit, as servers do."""
    text = reply.text or ""
    if limit is None or len(text) <= limit * _TOKEN:
        return reply
    return replace(reply, text=text[: limit * _TOKEN], completion_tokens=limit, finish_reason="length")


def _usage(reply: Reply) -> JsonObject:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }


def _calls(reply: Reply, identity: str) -> list[JsonObject]:
    return [
        {
            "id": f"call_{identity}_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for number, call in enumerate(reply.tool_calls)
    ]


def completion(reply: Reply, *, identity: str, model: str, created: int, usage: bool) -> bytes:
    """Return the body of a completion that is not streamed."""
    message: JsonObject = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    if reply.tool_calls:
        message["tool_calls"] = [*_calls(reply, identity)]
    choice: JsonObject = {
        "index": 0,
        "message": message,
        "finish_reason": reply.finish_reason,
        "logprobs": None,
    }
    body: JsonObject = {
        "id": f"chatcmpl-{identity}",
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [choice],
    }
    if usage:
        body["usage"] = _usage(reply)
    return json.dumps(body).encode()


def events(reply: Reply, *, identity: str, model: str, created: int, usage: bool) -> Iterator[bytes]:
    """Yield the server-sent events of a streamed completion, `[DONE]` last; `usage` adds an event without choices."""
    frame: JsonObject = {
        "id": f"chatcmpl-{identity}",
        "object": "chat.completion.chunk",
        "created": created,
        "model": model,
    }
    for delta in _deltas(reply, identity):
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": None}
        yield _event({**frame, "choices": [choice]})
    yield _event({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]})
    if usage:
        yield _event({**frame, "choices": [], "usage": _usage(reply)})
    yield b"data: [DONE]\n\n"


def _event(body: JsonObject) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _deltas(reply: Reply, identity: str) -> Iterator[JsonObject]:
    yield {"role": "assistant", "content": "" if reply.text is not None else None}
    for piece in _pieces(reply.text or ""):
        yield {"content": piece}
    for piece in _pieces(reply.refusal or ""):
        yield {"refusal": piece}
    for number, call in enumerate(reply.tool_calls):
        opening: JsonObject = {"name": call.name, "arguments": ""}
        head: JsonObject = {"index": number, "id": f"call_{identity}_{number}", "type": "function"}
        yield {"tool_calls": [{**head, "function": opening}]}
        for piece in _pieces(call.arguments):
            yield {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}
