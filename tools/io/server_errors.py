"""Classification of server errors by their words and not by status alone, wherever they stand."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from hopgraph.tools.io.http_retries import PASSING, SPENT, openai_class, status_of, text_of

UNSUPPORTED_STATUS = frozenset({400, 404, 405, 415, 422, 501})
"""HTTP statuses with which servers refuse a way of asking that they do not support."""
_FINAL = re.compile(
    r"content.?filter|content.?management|moderation|flagged|context.?length|maximum context|context (?:window|size)|"
    r"prompt is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(
    r"model_not_found|\bmodel\b.{0,80}(?:not found|not exist|unknown|unavailable)|unexpected endpoint|"
    r"invalid url|\Anot found\b|(?:unknown|no such) (?:endpoint|path|route|url)|"
    r"\b(?:endpoint|path|route|url)\b.{0,40}not (?:found|exist)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT_FORMAT = re.compile(
    r"tool|function|parameter|schema|format|json|grammar|support|keyword|unknown name|additional|pattern|"
    r"max(?:Items|Length)",
    re.IGNORECASE,
)
_UNUSABLE = frozenset({"json_validate_failed", "tool_use_failed"})
_STATUS_BY_WORDS = {
    404: _NOT_FOUND,
    402: SPENT,
    503: PASSING,
    401: re.compile("authentication|permission", re.IGNORECASE),
    500: re.compile("server.?error|internal|api_error", re.IGNORECASE),
    400: re.compile("invalid.?request|bad.?request", re.IGNORECASE),
}


class ReportedError(Exception):
    """An error that a server reports in a reply with status 200, or within a stream."""

    def __init__(self, message: str, status: int | None, body: Any = None) -> None:
        """Take what it says, the HTTP status that it names or that its words stand for, and the body."""
        super().__init__(message)
        self.status_code, self.body = status, body


def raise_reported(body: Any) -> None:
    """Raise a ReportedError where a body holds an error in place of a reply."""
    error = entry(body, "error")
    if not error:
        return
    said = error if isinstance(error, str) else str(entry(error, "message") or json.dumps(error))
    raw = entry(entry(error, "metadata"), "raw")
    message = f"{said}: {raw}" if raw else said
    named = [entry(error, key) for key in ("code", "status", "status_code")]
    status = next((int(str(each)) for each in named if re.fullmatch("[45][0-9]{2}", str(each))), None)
    words = f"{entry(error, 'type')} {entry(error, 'code')} {message}"
    meant = (number for number, pattern in _STATUS_BY_WORDS.items() if pattern.search(words))
    raise ReportedError(message, status or next(meant, None), error)


def message_of(error: Exception) -> str:
    """Return what an error says; of a server's JSON, the message in it."""
    text = text_of(error)
    try:
        body = json.loads(text)
        said = body.get("error", body)
        message = said if isinstance(said, str) else said["message"]
    except (ValueError, AttributeError, LookupError, TypeError, RecursionError):
        return text
    return message if message and isinstance(message, str) else text


def is_about_format(error: Exception) -> bool:
    """Return whether an error speaks of the way of asking: a format, a schema and what is in it, or tools."""
    return bool(_ABOUT_FORMAT.search(text_of(error)))


def is_permanent(error: Exception) -> bool:
    """Return whether no other mode helps: the prompt is too long or filtered, or the model or path does not exist."""
    said = text_of(error)
    if any(pattern.search(said) for pattern in (_FINAL, _NOT_FOUND, SPENT)):
        return True
    return status_of(error) in (404, 405) and not is_about_format(error)  # as OpenRouter's may be


def named_parameter(error: Exception) -> str:
    """Return the parameter of the request that an error's body names; empty without one."""
    body = getattr(error, "body", None)
    return str(entry(entry(body, "error") or body, "param") or "")


def failed_generation(error: Exception) -> str | None:
    """Return what a model wrote that its server refused as no record (Groq); None where an error says nothing of it."""
    said = entry(cast("Any", error).body, "error") if isinstance(error, openai_class("APIStatusError")) else None
    said = said or getattr(error, "body", None)
    if entry(said, "failed_generation") is None and entry(said, "code") not in _UNUSABLE:
        return None
    return str(entry(said, "failed_generation") or "")


def entry(value: Any, key: str) -> Any:
    """Return what a JSON object has under a key; None for all else."""
    return cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
