"""Classification of server errors by their words, not only by status, wherever they occur."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from html import unescape
from typing import Any, cast

from hopgraph.tools.io.http_retries import ECHO, FILTERED, PASSING, SPENT, openai_class, status_of, text_of

UNSUPPORTED_STATUS = frozenset({400, 404, 405, 415, 422, 501})
"""HTTP statuses with which servers refuse a request format that they do not support."""
_FINAL = re.compile(
    r"(?i)context.?(?:length|window|size)|maximum context|too many (?:input )?tokens|too large for model|"
    r"must be reduced|reduce the length|less than \d+ tokens|string too long|token limit:|max_seq_len|exceed max|"
    r"\b(?:prompt|inputs?)\b(?! validation).{0,40}(?:too long|exceed|\blength)"
)
_NOT_FOUND = re.compile(
    r"(?is)model_(?:not_|decom|deprec)|\bmodels?\b.{0,80}(?:not found|not exist|is unknown|unavailable)|"
    r"(?:no|multiple) models? (?:\w+ ){0,2}loaded|(?:location|throughput) (?:is not|isn.t) supported|"
    r"\bmodel\b\W{0,3}[\w./:-]{0,80}\W{0,3}(?:is|has been) (?:not (?:supported|loaded)|deprecated)|invalid model\b|"
    r"not a (?:valid|chat) model|identifier is invalid|provider not provided|failed to load model|"
    r"no healthy deployments|unexpected endpoint|invalid url|\Anot found\b|"
    r"(?:unknown|no such) (?:endpoint|path|route|url|model)|\b(?:endpoint|path|route|url)\b.{0,40}not (?:found|exist)"
)
_ABOUT_FORMAT = re.compile(
    r"(?i)tool|function|parameter|schema|\bformat|_format|json|grammar|structured|keyword|unknown name|"
    r"additional.?prop|pattern|max(?:Items|Length)"
)
_SAYING = ("error", "errors", "detail", "message", "msg", "error_msg", "base_resp", "status_msg")
"""Keys under which servers report what is wrong, in order of precedence."""
_NAMED_FIELD = re.compile(r'"(?:param|loc|field)": ("[^"]+"|\[[^\]]+\])')
_STATUS_KEYS = ("code", "status", "status_code", "statusCode", "http_code")
_PAGE = re.compile(r"<(?:!doctype|html|head|body|title|h1)\b", re.IGNORECASE)
_PAGE_MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^<>]*>", re.IGNORECASE | re.DOTALL)
_UNUSABLE = frozenset({"json_validate_failed", "tool_use_failed"})
_STATUS_BY_WORDS = {
    404: _NOT_FOUND,
    402: SPENT,
    503: PASSING,
    429: re.compile("resource.?exhausted", re.IGNORECASE),
    401: re.compile("auth|permission|forbidden|log.?in|token.{0,10}(?:expired|invalid)", re.IGNORECASE),
    500: re.compile("server.?error|internal|api_error", re.IGNORECASE),
    400: re.compile("invalid.?request|bad.?request", re.IGNORECASE),
}


class ReportedError(Exception):
    """An error that a server reports in a reply with status 200, or within a stream."""

    def __init__(self, message: str, status: int | None, body: Any = None) -> None:
        """Store its message, the HTTP status that it names or implies, and the body."""
        super().__init__(message)
        self.status_code, self.body = status, body


def raise_reported(body: Any) -> None:
    """Raise a ReportedError if a body is an error report instead of a reply, in whatever form."""
    found = _said(body) or ([body, json.dumps(error)] if (error := entry(body, "error")) else [])
    if not found:
        return
    *around, message = [*found[:-1], _message(found)]
    around.reverse()
    named = [entry(each, key) for each in around for key in _STATUS_KEYS]
    status = next((int(str(each)) for each in named if re.fullmatch("[45][0-9]{2}", str(each))), None)
    words = " ".join([*(str(each) for each in named if each), *(str(entry(each, "type")) for each in around), message])
    meant = (number for number, pattern in _STATUS_BY_WORDS.items() if pattern.search(words))
    raise ReportedError(message, status or next(meant, None), around[0] if around else message)


def message_of(error: Exception) -> str:
    """Return an error's message; for a server's JSON the message in it, for a page its text."""
    text = text_of(error)
    with suppress(ValueError, RecursionError):
        if said := _said(getattr(error, "body", None) or json.loads(text)):
            return _message(said)
    return page_text(text)


def _message(said: list[Any]) -> str:
    """Return an error's words, with those of the provider behind a gateway (OpenRouter)."""
    behind = [words for each in said if (words := _said(entry(entry(each, "metadata"), "raw")))]
    return ECHO.sub("", ": ".join([said[-1], *(words[-1] for words in behind)]))


def page_text(text: str) -> str:
    """Return the text of an HTML page on one line; any other text unchanged."""
    if not _PAGE.search(text[:1000]):
        return text
    return " ".join(unescape(_PAGE_MARKUP.sub(" ", text[:5_000])).split())


def _said(body: Any) -> list[Any]:
    """Return what an error says, last, after the objects around it, outermost first; empty if nothing is said."""
    try:
        return _find_said(body)
    except RecursionError:
        return []


def _find_said(body: Any) -> list[Any]:
    if isinstance(body, str):
        with suppress(ValueError):
            inner = json.loads(body)  # as gateways pass on another server's error
            return (_find_said(inner) if isinstance(inner, dict | list) else []) or [body]
        return [page_text(body)] if body.strip() else []
    if isinstance(body, list):
        return next((found for each in cast("list[Any]", body) if (found := _find_said(each))), list[Any]())
    if not isinstance(body, Mapping):
        return []
    found = next((found for key in _SAYING if (found := _find_said(entry(body, key)))), list[Any]())
    where = entry(body, "loc")  # of pydantic's errors
    if found and isinstance(where, list):
        found[-1] = f"{'.'.join(map(str, cast('list[Any]', where)))}: {found[-1]}"
    return [body, *found] if found else []


def is_about_format(error: Exception) -> bool:
    """Return whether an error is about the request format: a mode, a schema and its contents, or tools."""
    return bool(_ABOUT_FORMAT.search(text_of(error)))


def is_permanent(error: Exception) -> bool:
    """Return whether no other mode helps: the prompt is too long or filtered, or the model or path does not exist."""
    said = text_of(error)
    if any(pattern.search(said) for pattern in (_FINAL, FILTERED, _NOT_FOUND, SPENT)):
        return True
    return status_of(error) in (404, 405) and not is_about_format(error)  # as OpenRouter's may be


def named_parameter(error: Exception) -> str:
    """Return the request parameter that a field of an error's body names; empty if none does."""
    with suppress(RecursionError):
        if found := _NAMED_FIELD.search(json.dumps(getattr(error, "body", None))):
            return found[1]
    return ""


def failed_generation(error: Exception) -> str | None:
    """Return a model's output that its server rejected as not a record (Groq); None if an error does not include it."""
    said = entry(cast("Any", error).body, "error") if isinstance(error, openai_class("APIStatusError")) else None
    said = said or getattr(error, "body", None)
    if entry(said, "failed_generation") is None and entry(said, "code") not in _UNUSABLE:
        return None
    return str(entry(said, "failed_generation") or "")


def entry(value: Any, key: str) -> Any:
    """Return a JSON object's value under a key; None for anything else."""
    return cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
