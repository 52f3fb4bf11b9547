"""Requests of the app's endpoints, as their clients send them."""

from typing import Any

import httpx

from support.servers.web_app import WebApp

ACCEPT = {"Accept": "application/json, text/event-stream"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
"""What a client of MCP accepts, and how it begins a session."""


def chat_request(question: str, method: str = "one_step", **more: Any) -> dict[str, Any]:
    """Return a body of `/v1/chat/completions`."""
    return {"model": method, "messages": [{"role": "user", "content": question}], **more}


def agent_request(*texts: str, thread: str = "t1", method: str = "one_step", **more: Any) -> dict[str, Any]:
    """Return a body of `/ag-ui` with alternating user and assistant messages."""
    messages = [
        {"id": f"{thread}-{number}", "role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(texts)
    ]
    given = {"threadId": thread, "runId": "r1", "messages": messages, "tools": [], "context": [], "state": {}}
    return {**given, "forwardedProps": {"hopgraph": {"method": method}}, **more}


def mcp_request(method: str, params: Any = None) -> dict[str, Any]:
    """Return a body of `/mcp`."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}


async def ask(client: httpx.AsyncClient, way: str, question: str, method: str = "one_step") -> httpx.Response:
    """Ask by one of v1, v1 stream, ag-ui and mcp."""
    if way.startswith("v1"):
        body = chat_request(question, method, stream=way == "v1 stream")
        return await client.post("/v1/chat/completions", json=body)
    if way == "ag-ui":
        return await client.post("/ag-ui", json=agent_request(question, method=method))
    begun = await client.post("/mcp", json=mcp_request("initialize", HELLO), headers=ACCEPT)
    session = {**ACCEPT, "Mcp-Session-Id": begun.headers["mcp-session-id"]}
    call = {"name": method, "arguments": {"question": question}, "_meta": {"progressToken": 1}}
    return await client.post("/mcp", json=mcp_request("tools/call", call), headers=session)


async def sent(app: WebApp, method: str, path: str, **given: Any) -> httpx.Response:
    """Send one request to an app."""
    async with httpx.AsyncClient(timeout=60) as client:
        return await client.request(method, f"{app.url}{path}", **given)
