"""Chat requests and answers in the form of OpenAI's API."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field, JsonValue

Json = dict[str, JsonValue]
_PIECE = 64
"""Characters in one event of a stream."""


class _Named(BaseModel):
    name: str


class _Tool(BaseModel):
    function: _Named


class _StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel):
    """The fields of a request that are acted on; all others, as `response_format`, are accepted and ignored."""

    model: str
    messages: list[dict[str, Any]] = Field(min_length=1)
    n: Literal[1] | None = None
    stream: bool = False
    stream_options: _StreamOptions | None = None
    tools: list[_Tool] = []
    tool_choice: Literal["none", "auto", "required"] | _Tool = "auto"

    @property
    def forced_tool(self) -> str:
        """The function that must be called; empty where the model may answer in words."""
        if isinstance(self.tool_choice, _Tool):
            return self.tool_choice.function.name
        return self.tools[0].function.name if self.tool_choice == "required" and self.tools else ""


@dataclass(frozen=True)
class ChatAnswer:
    """A model's reply on its way to the client."""

    identity: str
    """Unique, from the server."""
    created: int
    """Seconds since the epoch."""
    request: ChatRequest
    message: AIMessage

    def body(self) -> Json:
        """Write the answer whole."""
        choice: Json = {"index": 0, "message": {"role": "assistant", **self._said()}, **self._end()}
        return {**self._frame("chat.completion"), "choices": [choice], "usage": self._usage()}

    def events(self) -> Iterator[bytes]:
        """Write the answer as server-sent events; its usage comes last, where it was asked for."""
        frame = self._frame("chat.completion.chunk")
        deltas: list[Json] = [{"role": "assistant"}, *self._pieces()]
        for delta in deltas:
            yield _event({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield _event({**frame, "choices": [{"index": 0, "delta": {}, **self._end()}]})
        if self.request.stream_options and self.request.stream_options.include_usage:
            yield _event({**frame, "choices": [], "usage": self._usage()})
        yield b"data: [DONE]\n\n"

    def _frame(self, kind: str) -> Json:
        return {"id": self.identity, "object": kind, "created": self.created, "model": self.request.model}

    def _said(self) -> Json:
        if name := self.request.forced_tool:
            return {"content": None, "tool_calls": [self._call(name, str(self.message.text))]}
        return {"content": str(self.message.text)}

    def _call(self, name: str, arguments: str) -> Json:
        return {
            "id": f"call_{self.identity}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }

    def _pieces(self) -> Iterator[Json]:
        text, name = str(self.message.text), self.request.forced_tool
        if name:
            yield {"tool_calls": [{"index": 0, **self._call(name, "")}]}
        for start in range(0, len(text), _PIECE):
            piece = text[start : start + _PIECE]
            yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} if name else {"content": piece}

    def _end(self) -> Json:
        return {"finish_reason": "tool_calls" if self.request.forced_tool else "stop"}

    def _usage(self) -> Json:
        usage: Mapping[str, Any] = self.message.usage_metadata or {}
        return {
            "prompt_tokens": usage.get("input_tokens", 0),
            "completion_tokens": usage.get("output_tokens", 0),
            "total_tokens": usage.get("total_tokens", 0),
        }


def _event(body: Json) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"
