"""Bodies of OpenAI-compatible servers that langchain-openai does not read, or misreads."""

import json
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from hopgraph.tools.io.server_errors import entry

RECEIVED: ContextVar[list[bytes]] = ContextVar("RECEIVED")
"""The bodies of the request that is under way, noted by `note_body`."""


async def note_body(response: Any) -> None:
    """Keep a reply that is not a stream where `RECEIVED` is set; a hook of an httpx client."""
    bodies = RECEIVED.get(None)
    if bodies is not None and "event-stream" not in response.headers.get("content-type", ""):
        bodies.append(await response.aread())


def written_in(body: Any) -> str | None:
    """Return what a model wrote, in whatever form its server passed it on; None where there is no reply."""
    choices = entry(body, "choices")
    message = entry(choices[0], "message") if isinstance(choices, list) and choices else None
    if not isinstance(message, Mapping):
        return None
    calls: Any = entry(message, "tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None  # pyright: ignore[reportUnknownVariableType]
    called = [entry(first, "function"), entry(message, "function_call")]
    written: Any = next((found for each in called if (found := entry(each, "arguments"))), None)
    written = written or entry(message, "content")
    if isinstance(written, str):
        with suppress(ValueError, RecursionError):
            decoded = json.loads(written)  # encoded twice
            written = decoded if isinstance(decoded, str) else written
    return written if isinstance(written, str) else json.dumps(written) if written else ""
