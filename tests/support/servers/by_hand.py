"""Hand-written requests to the chat page, without a browser."""

import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Person:
    """A logged-in user who sends hand-written requests to the page."""

    client: httpx.AsyncClient
    functions: Mapping[str, int]

    async def call(self, function: str, values: list[Any], session: str = "") -> str:
        """Call a function of the page, by default in a new tab; return all outputs."""
        session, said = session or uuid.uuid4().hex, ""
        wanted = {"data": values, "fn_index": self.functions[function], "session_hash": session}
        joined = await self.client.post("/chat/gradio_api/queue/join", json=wanted)
        if joined.status_code != 200:
            return joined.text
        async with self.client.stream("GET", "/chat/gradio_api/queue/data", params={"session_hash": session}) as lines:
            async for line in lines.aiter_lines():
                said += line
                if '"close_stream"' in line:
                    return said
        return said

    async def uploaded(self, name: str, content: str) -> str:
        """Upload a file as the page does; return its path on the server."""
        reply = await self.client.post("/chat/gradio_api/upload", files={"files": (name, content.encode())})
        assert reply.status_code == 200, reply.text
        return reply.json()[0]


@asynccontextmanager
async def by_hand(url: str, key: str = "", headers: Mapping[str, str] | None = None) -> AsyncGenerator[Person]:
    """Open the page as a user: logged in if there is a login, or with headers on every request."""
    # No kept connections: on a busy machine the server may close one just when it is used again.
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits, headers=headers) as client:
        if key:
            login = await client.post("/chat/login", data={"key": key})
            assert login.status_code == 303, login.text
        described = (await client.get("/chat/config")).json()["dependencies"]
        yield Person(client, {each["api_name"]: each["id"] for each in described})
