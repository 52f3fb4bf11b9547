"""Faults of a model server, which a test queues on `OpenAIServer`.

ErrorStatus   answers in place of the model with an HTTP error        never reaches the model
Drop          closes the socket before or in the middle of the answer reaches it only for `body`
BrokenBody    status 200 with a body that is no chat completion       never reaches the model
Slow          answers properly, after a wait
ChangedReply  answers properly, but not with what the model said
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class ToolCallText:
    """A function call with its arguments as raw text."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    """The model's reply before conversion to OpenAI's format."""

    text: str | None
    prompt_tokens: int
    completion_tokens: int
    tool_calls: tuple[ToolCallText, ...] = ()
    refusal: str | None = None
    finish_reason: str = "stop"


@dataclass(frozen=True)
class ErrorStatus:
    """An HTTP error with OpenAI's error body, or with a gateway's HTML page."""

    status: int
    message: str
    retry_after: float | None = None
    """Seconds for the header `Retry-After`; no header for None."""
    as_date: bool = False
    """Give `Retry-After` as an HTTP date, whose resolution is one second."""
    html: bool = False


@dataclass(frozen=True)
class Slow:
    """A wait, in seconds, before the model is called."""

    seconds: float


@dataclass(frozen=True)
class Drop:
    """A connection that closes without a byte, after the headers, or after half the body."""

    before: Literal["answer", "body", "end"]


@dataclass(frozen=True)
class BrokenBody:
    """A body sent with status 200 and the requested content type."""

    body: bytes


@dataclass(frozen=True)
class ChangedReply:
    """A change to the model's reply, before the text becomes a tool's arguments."""

    change: Callable[[Reply], Reply]


Fault = ErrorStatus | Slow | Drop | BrokenBody | ChangedReply


def rate_limited(retry_after: float | None = 1.0, *, as_date: bool = False) -> ErrorStatus:
    """Status 429, with `Retry-After` in seconds or as an HTTP date."""
    return ErrorStatus(429, "Too many requests for this model, slow down", retry_after, as_date)


def server_error(status: int = 500, *, html: bool = False) -> ErrorStatus:
    """Status 500, 502, 503 etc."""
    return ErrorStatus(status, "The model server failed while it handled the request", html=html)


def slow(seconds: float) -> Slow:
    """The proper answer, `seconds` late."""
    return Slow(seconds)


def dropped(before: Literal["answer", "body", "end"] = "answer") -> Drop:
    """A connection closed before the answer, before its body, or before the body's end."""
    return Drop(before)


def malformed_body(body: bytes = b'{"id": "chatcmpl-1", "choices": [{"index": 0, "mess') -> BrokenBody:
    """Status 200 with a body that is not JSON, or any other `body`."""
    return BrokenBody(body)


def truncated(keep: float = 0.5) -> ChangedReply:
    """The first part of the text (`keep` of its characters), with `finish_reason` "length"."""

    def cut(reply: Reply) -> Reply:
        text = reply.text or ""
        return replace(reply, text=text[: int(len(text) * keep)], finish_reason="length")

    return ChangedReply(cut)


def empty_content() -> ChangedReply:
    """Empty content and no tool call."""
    return ChangedReply(lambda reply: replace(reply, text="", tool_calls=()))


def refusal(text: str = "I can't help with that.") -> ChangedReply:
    """A refusal: `content` null, `refusal` set, no tool call."""
    return ChangedReply(lambda reply: replace(reply, text=None, tool_calls=(), refusal=text))


def wrapped(before: str, after: str) -> ChangedReply:
    """The text between two others."""
    return ChangedReply(lambda reply: replace(reply, text=f"{before}{reply.text or ''}{after}"))
