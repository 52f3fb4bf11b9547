"""Mutated requests to the endpoints."""

import random
from typing import Any

from support.mutated_json import mutate_json

QUESTION = "Who painted Guernica?"
GOOD: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "model": "one_step",
        "messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "hopgraph": {"top_k": 2, "max_llm_calls": 3},
        "response_format": {"type": "text"},
        "tool_choice": "auto",
        "n": 1,
    },
    "/ag-ui": {
        "threadId": "t1",
        "runId": "r1",
        "state": {},
        "messages": [{"id": "1", "role": "user", "content": QUESTION}],
        "tools": [],
        "context": [],
        "forwardedProps": {"hopgraph": {"method": "one_step", "top_k": 2}},
        "resume": None,
    },
    "/mcp": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "one_step", "arguments": {"question": QUESTION}, "_meta": {"progressToken": 1}},
    },
}
JUNK: list[Any] = [
    *(None, [], {}, "x", "", -1, 0, 1e308, True, [None], {"a": {}}, "\ud800", "\0", "</s>" * 100, 10**400, "none"),
    *(float("nan"), float("inf"), "../../etc/passwd", "http://127.0.0.1:9/", {"path": "/etc/passwd"}, [[[]]] * 50),
    *("tools/list", "initialize", "resources/read", "user", "auto", {"model": "openai:x?base_url=http://127.0.0.1:9"}),
]
DEEP = 100_000
TYPES = ["application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "a\tb", "é"]
METHODS = ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "POST", "TRACE"]
ACCEPT = ["application/json, text/event-stream", "text/html", "", "*/*"]
PATHS = ["", "/", "/x", "/%00", "/..%2f..%2fetc%2fpasswd", "?stream=1", "/models/%ff", "/" + "a" * 3000]


def mutate(chance: random.Random, good: Any) -> bytes:
    """Return a valid body with one to three parts replaced, removed or nested, and sometimes broken bytes."""
    written = mutate_json(chance, good, JUNK, removed=0.2)
    match chance.randrange(8):
        case 0:
            return written[: chance.randrange(len(written))]
        case 1:
            return written.replace(b'"', b'"\xff', 1)
        case 2:
            return written.replace(b": ", b": " + b"[" * DEEP + b"]" * DEEP + b", ", 1)
        case 3:
            return chance.choice([b"", b"null", b"[]", b"7", b'"x"', b"{", b"[" * DEEP, chance.randbytes(300)])
        case _:
            return written


def request(chance: random.Random, path: str) -> tuple[str, str, dict[str, Any]]:
    """Return a request's method, path and httpx arguments."""
    headers = {"Content-Type": "application/json", "Accept": ACCEPT[0]}
    method = "POST"
    match chance.randrange(6):
        case 0:
            method = chance.choice(METHODS)
        case 1:
            headers[chance.choice(["Content-Type", "Accept"])] = chance.choice([*TYPES, *ACCEPT])
        case 2:
            named = chance.choice(["Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id", "Content-Encoding"])
            headers[named] = chance.choice(["x", "a" * 5000, "é", "gzip", "2025-06-18"])
        case 3:
            path += chance.choice(PATHS)
        case _:
            pass
    given = {name: value.encode() for name, value in headers.items()}
    return (
        method,
        path,
        {"headers": given, "content": mutate(chance, GOOD[path.partition("?")[0]] if path in GOOD else {"x": [1]})},
    )
