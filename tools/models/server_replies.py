"""Replies of OpenAI-compatible servers, put into the form in which langchain-openai reads them.

A hook of the HTTP client rewrites the body of each chat completion, as a stream or whole, as it was asked for: content
in parts, a record in the reasoning alone, arguments as an object, odd counts of tokens. A body that is no reply raises
what it says, as a ReportedError, or else an UnreadableReplyError.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from hopgraph.tools.io.http_retries import UnreadableReplyError
from hopgraph.tools.io.reply_bounds import replace_body
from hopgraph.tools.io.server_errors import entry, page_text, raise_reported

Json = dict[str, Any]
_IS_STREAM = re.compile(rb'"stream":\s*true')
_FIELD = re.compile(r"(?P<name>data|error|event|id|retry)(?::|\Z) ?(?:data: ?)*(?P<value>.*)|:.*")
_DONE = "[DONE]"
_WRAPPERS = ("data", "result", "response")
"""Keys under which gateways put a whole reply."""
_UNSAID = frozenset({"thinking", "reasoning", "redacted_thinking", "refusal"})
"""Types of parts that are no content."""
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_text", "reasoning_details")
_ARGUMENTS = ("arguments", "parameters", "input", "args")
_PART = frozenset({"type", "text", "content", "annotations", "citations", "index", "id"})
_PASSED_ON = ("id", "model", "system_fingerprint", "service_tier")
_COUNTS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}


async def read_completion(response: Any) -> None:
    """Rewrite a chat completion in OpenAI's form; a hook of an httpx client, after `bound_reply`."""
    request = response.request
    if response.is_success and request.url.path.endswith("/chat/completions"):
        replace_body(response, _as_stream if _IS_STREAM.search(await request.aread()) else _as_whole)


async def _as_stream(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Write a stream; the count of tokens comes once, at the end, though some servers send one with each chunk."""
    usage: Json | None = None
    async for value in _values(pieces):
        if value != _DONE:
            usage = read_usage(value) or usage
            if said := _Said.of(value):
                yield _event(_reply(value, {"delta": said.message(), "finish_reason": said.finish}))
            continue
        yield _end(usage)
        usage = None
    yield _end(usage)


def _event(value: Json) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def _end(usage: Json | None) -> bytes:
    return (_event({"choices": [], "usage": usage}) if usage else b"") + f"data: {_DONE}\n\n".encode()


async def _as_whole(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    value, usage, whole = None, None, None
    async for value in _values(pieces):
        if value == _DONE:
            break
        usage = read_usage(value) or usage
        if said := _Said.of(value):
            whole = whole.add(said) if whole else said
    if not whole:
        raise UnreadableReplyError("it has no choices")
    if not (whole.content.strip() or whole.calls or whole.refusal) and "length" not in (whole.finish or ""):
        # of servers that take all for reasoning where a model does not mark it
        whole.content = whole.reasoning or whole.content
    whole.content = _decoded(whole.content)
    for call in whole.calls.values():
        arguments = _decoded(call["function"]["arguments"])
        if not arguments.lstrip().startswith("{"):  # langchain-openai would refuse the whole reply
            whole.content, arguments = whole.content or arguments, ""
        call["function"]["arguments"] = arguments
    reply = _reply(value, {"message": whole.message(), "finish_reason": whole.finish})
    yield json.dumps({**reply, "usage": usage}).encode()


def _reply(value: Any, choice: Json) -> Json:
    head = {name: value[name] for name in _PASSED_ON if isinstance(entry(value, name), str)}
    return {**head, "choices": [{"index": 0, **choice}]}


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    begun = list[bytes]()
    async for piece in pieces:
        first, *others = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        begun.append(first)
        for each in others:
            yield b"".join(begun).decode(errors="replace").lstrip("\ufeff")
            begun = [each]
    yield b"".join(begun).decode(errors="replace").lstrip("\ufeff")


async def _values(pieces: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    """Give the JSON values of a body, and `[DONE]`: of server-sent events, and of what is outside of them."""
    data, other, found = list[str](), list[str](), False
    async for line in _lines(pieces):
        match = _FIELD.fullmatch(line)
        if match and match["name"] == "data":
            data.append(match["value"])
        elif match and match["name"] == "error":
            raise_reported({"error": match["value"]})
        elif not match and line.strip():
            other.append(line)
        elif not line.strip():
            for value in _parsed(data):
                found = True
                yield value
            data.clear()
    with suppress(*((UnreadableReplyError,) if found else ())):
        for value in _parsed(data or other):
            yield value


def _parsed(lines: list[str]) -> list[Any]:
    """Parse lines as one value, or else each by itself."""
    text = "\n".join(lines)
    try:
        return [_unwrapped(json.loads(text, strict=False))]
    except (ValueError, RecursionError):
        pass
    try:
        return [_DONE if _DONE in each.upper()[:9] else _unwrapped(json.loads(each)) for each in lines if each]
    except (ValueError, RecursionError):
        raise UnreadableReplyError(f"{page_text(text):.200}") from None


def _unwrapped(value: Any) -> Any:
    value = next(iter(_listed(value)), None)
    inner = (entry(value, key) for key in _WRAPPERS)
    return next((each for each in inner if entry(each, "choices")), value)


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


@dataclass
class _Said:
    """What a choice says, or a piece of it."""

    content: str
    reasoning: str
    refusal: str
    calls: dict[int, Json]
    finish: str | None

    @classmethod
    def of(cls, value: Any) -> "_Said | None":
        """Read a reply, or a piece of one; None if it has no choices. A ReportedError for an error of any form."""
        choice = next(iter(_listed(entry(value, "choices"))), None)
        if not isinstance(choice, Mapping):
            raise_reported(value)
            return None
        raise_reported(entry(value, "error"))
        raise_reported(entry(choice, "error"))
        said = entry(choice, "delta") or entry(choice, "message") or entry(choice, "text")
        said = {"content": said} if isinstance(said, str) else said
        calls = _listed(entry(said, "tool_calls") or entry(said, "function_call") or [])
        read = [_call(each, number) for number, each in enumerate(calls)]
        content = entry(said, "content")
        return cls(
            _text(content),
            _text(_first(said, _REASONING)),
            _text(_first(said, ("refusal",)) or [entry(each, "refusal") for each in _listed(content)]),
            {each["index"]: each for each in read},
            str(entry(choice, "finish_reason") or "") or None,
        )

    def add(self, more: "_Said") -> "_Said":
        for index, each in more.calls.items():
            function = self.calls.setdefault(index, {**each, "function": {"name": "", "arguments": ""}})["function"]
            function["arguments"] += each["function"]["arguments"]
            function["name"] = function["name"] or each["function"]["name"]
        content, reasoning = self.content + more.content, self.reasoning + more.reasoning
        return _Said(content, reasoning, self.refusal + more.refusal, self.calls, more.finish or self.finish)

    def message(self) -> Json:
        calls = {"tool_calls": [*self.calls.values()]} if self.calls else {}
        return {"role": "assistant", "content": self.content, "refusal": self.refusal or None, **calls}


def _call(given: Any, number: int) -> Json:
    function, index = entry(given, "function") or given, _count(entry(given, "index"))
    arguments, identity = _first(function, _ARGUMENTS), entry(given, "id")
    text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
    named = {"name": str(entry(function, "name") or ""), "arguments": text}
    made = {"id": identity if identity is None else str(identity), "type": "function", "function": named}
    return {"index": number if index is None else index, **made}


def _first(value: Any, keys: tuple[str, ...]) -> Any:
    """Return what an object has under the first of the keys; None if under none."""
    return next((found for key in keys if (found := entry(value, key)) not in (None, "")), None)


def _text(content: Any) -> str:
    """Return content as one text: of parts, of an object what it holds, or else the object itself, as a record."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        return "".join(_text(each) for each in parts if entry(each, "type") not in _UNSAID)
    if not isinstance(content, Mapping):
        return ""
    part = cast("Mapping[str, Any]", content)
    inner = part.get("text", part.get("content"))
    return _text(inner) if isinstance(inner, str | list) and part.keys() <= _PART else json.dumps(part)


def _decoded(text: str) -> str:
    """Return a text that is written as JSON, as by servers that encode what is encoded."""
    if text.lstrip().startswith('"'):
        with suppress(ValueError, RecursionError):
            inner = json.loads(text)
            return inner if isinstance(inner, str) else text
    return text


def read_usage(value: Any) -> Json | None:
    """Return the counts of tokens, 0 for one that cannot be read; None without any."""
    usage = entry(value, "usage")
    counts = {name: _count(entry(usage, name)) or _count(entry(usage, key)) or 0 for name, key in _COUNTS.items()}
    return {**counts, "total_tokens": sum(counts.values())} if any(counts.values()) else None


def _count(value: Any) -> int | None:
    """Read a number, also as a float or a text; None if it is none."""
    try:
        return int(value) if float(value) == int(value) >= 0 else None
    except (ValueError, TypeError, OverflowError):
        return None
