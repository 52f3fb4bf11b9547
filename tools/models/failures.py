"""What the failure of a model request means: an unsupported way of asking, or a `ModelError` in one line."""

import json

import httpx

from hopgraph.state import ModelError
from hopgraph.tools.io.http_retries import UnreadableReplyError, is_connection_error, openai_error, status_of
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models.resolve import ModelHandle
from hopgraph.tools.models.structured import is_openai

UNSUPPORTED_STATUS = frozenset({400, 404, 405, 415, 422, 501})
"""HTTP statuses with which servers refuse a way of asking for JSON that they do not support."""


def is_unsupported(error: BaseException) -> bool:
    """Whether the server, or the model's class, does not support this way of asking for JSON."""
    return status_of(error) in UNSUPPORTED_STATUS or isinstance(error, NotImplementedError)


def as_model_error(handle: ModelHandle, error: Exception) -> Exception:
    """Describe a failure of the server or the connection in one line; return any other error as it is."""
    status = status_of(error)
    detail = " ".join(redact(str(error), handle.model).split())[:300]
    if status == 401:
        which = "OPENAI_API_KEY" if is_openai(handle.model) else "its provider's API key"
        return ModelError(f"{handle.name}: the server refused the key (HTTP 401: {detail}); check {which}")
    if status is not None:
        hint = "; try temperature=none" if "temperature" in detail else ""
        return ModelError(f"{handle.name}: HTTP {status}: {detail}{hint}")
    if isinstance(error, TimeoutError | httpx.TimeoutException | openai_error("APITimeoutError")):
        return ModelError(f"{handle.name}: no reply in time; raise request_timeout or try again")
    if is_connection_error(error):
        address = getattr(handle.model, "openai_api_base", None) or "its server"
        return ModelError(f"{handle.name}: cannot reach {redact(str(address))}; is the server running?")
    if isinstance(error, json.JSONDecodeError | UnreadableReplyError):
        return ModelError(f"{handle.name}: the server's reply is not in the OpenAI format ({detail})")
    if isinstance(error, openai_error("OpenAIError")):
        return ModelError(f"{handle.name}: {detail}")
    return error
