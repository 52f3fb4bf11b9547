"""What a server of OpenAI's form said in a body that langchain-openai does not read, or takes for something else."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, cast

from hopgraph.tools.io.http_retries import openai_class, status_of, text_of

RECEIVED: ContextVar[list[bytes]] = ContextVar("RECEIVED")
"""The bodies of the request that is under way, noted by `note_body`."""
_FINAL = re.compile(
    r"content.?filter|content.?management|moderation|flagged|context.?length|maximum context|context (?:window|size)|"
    r"prompt is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(
    r"model_not_found|\bmodel\b.{0,80}(?:not found|not exist|unknown|unavailable)|unexpected endpoint|"
    r"\b(?:endpoint|path|route|url)\b.{0,40}not (?:found|exist)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT_FORMAT = re.compile(r"tool|function|parameter|schema|format|support", re.IGNORECASE)
_UNUSABLE = frozenset({"json_validate_failed", "tool_use_failed"})


class ReportedError(Exception):
    """An error that a server reports in a reply with status 200, or within a stream."""

    def __init__(self, message: str, status: int | None) -> None:
        """Take what it says, and the HTTP status that it names or that its words stand for."""
        super().__init__(message)
        self.status_code = status


async def note_body(response: Any) -> None:
    """Keep a reply that is no stream where `RECEIVED` is set; a hook of an httpx client."""
    bodies = RECEIVED.get(None)
    if bodies is not None and "event-stream" not in response.headers.get("content-type", ""):
        bodies.append(await response.aread())


def raise_reported(body: Any) -> None:
    """Raise a ReportedError where a body holds an error in place of a reply."""
    error = _entry(body, "error")
    if not error:
        return
    said = error if isinstance(error, str) else str(_entry(error, "message") or json.dumps(error))
    raw = _entry(_entry(error, "metadata"), "raw")
    message = f"{said}: {raw}" if raw else said
    named = [_entry(error, key) for key in ("code", "status", "status_code")]
    status = next((int(str(each)) for each in named if re.fullmatch("[45][0-9]{2}", str(each))), None)
    raise ReportedError(message, status or (404 if _NOT_FOUND.search(message) else None))


def written_in(body: Any) -> str | None:
    """Return what a model wrote, in whatever form its server passed it on; None where there is no reply."""
    choices = _entry(body, "choices")
    message = _entry(choices[0], "message") if isinstance(choices, list) and choices else None
    if not isinstance(message, Mapping):
        return None
    calls: Any = _entry(message, "tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None  # pyright: ignore[reportUnknownVariableType]
    called = [_entry(first, "function"), _entry(message, "function_call")]
    written: Any = next((found for each in called if (found := _entry(each, "arguments"))), None)
    written = written or _entry(message, "content")
    if isinstance(written, str):
        with suppress(ValueError):
            decoded = json.loads(written)  # encoded twice
            written = decoded if isinstance(decoded, str) else written
    return written if isinstance(written, str) else json.dumps(written) if written else ""


def is_permanent(error: Exception) -> bool:
    """Whether no other way of asking helps: the prompt is too long or filtered, or there is no such model or path."""
    said = text_of(error)
    if _FINAL.search(said) or _NOT_FOUND.search(said):
        return True
    return status_of(error) in (404, 405) and not _ABOUT_FORMAT.search(said)  # OpenRouter's are about the format


def named_parameter(error: Exception) -> str:
    """Return the parameter of the request that an error's body names; empty without one."""
    body = getattr(error, "body", None)
    return str(_entry(_entry(body, "error") or body, "param") or "")


def failed_generation(error: Exception) -> str | None:
    """Return what a model wrote that its server refused as no record (Groq); None where an error says nothing of it."""
    said = _entry(cast("Any", error).body, "error") if isinstance(error, openai_class("APIStatusError")) else None
    said = said or getattr(error, "body", None)
    if _entry(said, "failed_generation") is None and _entry(said, "code") not in _UNUSABLE:
        return None
    return str(_entry(said, "failed_generation") or "")


def _entry(value: Any, key: str) -> Any:
    return cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
