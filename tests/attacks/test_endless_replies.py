"""A model server whose reply has no end, unpacks to much, trickles in or is nested deeply: one line."""

import asyncio
import time
import tracemalloc
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from hopgraph.state import HopgraphError, ModelError
from hopgraph.tools.io.json_server import JsonServer
from hopgraph.tools.models import Sampling, resolve_model
from hopgraph.tools.models.completions import TextRequest, complete
from hopgraph.tools.models.send import SendOptions, send

MESSAGES: list[BaseMessage] = [SystemMessage("Say it."), HumanMessage("Wo ist Köln?")]
MEGABYTE = 1024**2
LARGEST, MOST = 4 * MEGABYTE, 64 * MEGABYTE
"""The limit, and bytes that are sent, or held, at most: its text, too, and what is in buffers."""
BLOCK = b" " * MEGABYTE
EVENT = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
)
NESTED = b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


class Known(BaseModel):
    knowledge: str


@cache
def packed(window: int = zlib.MAX_WBITS | 16) -> list[bytes]:
    """Return 100 MB of blanks in pieces, compressed."""
    packer = zlib.compressobj(1, wbits=window)
    return [packer.compress(BLOCK) for _ in range(100)] + [packer.flush()]


@dataclass
class RawServer:
    """Sends a reply in pieces, endlessly or with waits between, until the client has hung up."""

    pieces: list[bytes]
    headers: str = "content-type: application/json"
    endless: bool = False
    wait: float = 0
    head: bytes = b""
    """In place of the status and the headers."""
    requests: int = 0
    sent: int = 0
    answering: list[Any] = field(default_factory=list[Any])
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.answering.append(asyncio.current_task())
        asked = (await reader.readuntil(b"\r\n\r\n")).lower()
        stated = asked.partition(b"content-length:")[2].split(maxsplit=1)
        # A connection that is closed before all was read is reset, and the reply with it.
        await reader.readexactly(int(stated[0]) if stated else 0)
        self.requests += 1
        head = f"HTTP/1.1 200 OK\r\n{self.headers}\r\nconnection: close\r\n\r\n".encode()
        writer.write(self.head or head)
        try:
            while True:
                for piece in self.pieces:
                    writer.write(piece)
                    await writer.drain()
                    self.sent += len(piece)
                    await asyncio.sleep(self.wait)
                if not self.endless:
                    break
            writer.close()
            await writer.wait_closed()
        except ConnectionError:
            self.hung_up.set()
        finally:
            writer.transport.abort()

    @asynccontextmanager
    async def at(self) -> AsyncGenerator[str]:
        listener = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        async with listener:
            yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
            for each in self.answering:
                each.cancel()
            await asyncio.gather(*self.answering, return_exceptions=True)
            await asyncio.sleep(0)


def options(*, streamed: bool = False, retries: int = 3) -> SendOptions:
    return SendOptions(parallel=1, retries=retries, on_text=(lambda text: None) if streamed else None)


async def by_spec(url: str, seconds: float = 60, **how: Any) -> Any:
    handle = await resolve_model(f"openai:m?base_url={url}", Sampling(request_timeout=seconds))
    return await send(handle, MESSAGES, Known, options(**how))


async def streamed(url: str, seconds: float = 60, **how: Any) -> Any:
    return await by_spec(url, seconds, streamed=True, **how)


async def by_object(url: str, seconds: float = 60, **how: Any) -> Any:
    model = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"), max_retries=0)
    return await send(await resolve_model(model, Sampling(request_timeout=seconds)), MESSAGES, Known, options(**how))


async def scored(url: str, seconds: float = 60, **how: Any) -> Any:
    handle = await resolve_model(f"openai:m?base_url={url}", Sampling(request_timeout=seconds))
    return await complete(handle, MESSAGES, TextRequest(" Köln"), options(**how))


async def json_server(url: str, seconds: float = 60, retries: int = 3) -> Any:
    return await JsonServer(url, largest=LARGEST, seconds=seconds, retries=retries).request("POST", dict, json={})


Ask = Callable[..., Awaitable[Any]]
WAYS: list[Ask] = [by_spec, streamed, by_object, scored, json_server]


ENDLESS: dict[str, Callable[[], RawServer]] = {
    "body": lambda: RawServer([BLOCK], endless=True),
    "error": lambda: RawServer([BLOCK], endless=True, head=b"HTTP/1.1 500 No\r\nconnection: close\r\n\r\n"),
    "gzip": lambda: RawServer(packed(), "content-encoding: gzip"),
    "deflate": lambda: RawServer(packed(zlib.MAX_WBITS), "content-encoding: Deflate"),
    "events": lambda: RawServer([EVENT % (b"x" * 50_000)], "content-type: text/event-stream", endless=True),
    "one event": lambda: RawServer([BLOCK], "content-type: text/event-stream", endless=True),
}


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("kind", ENDLESS)
async def test_a_reply_ends_at_its_limit_and_is_not_asked_for_again(
    kind: str, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopgraph.tools.io.reply_bounds.LARGEST_REPLY", LARGEST)
    server = ENDLESS[kind]()
    async with server.at() as url:
        tracemalloc.start()
        try:
            with pytest.raises(HopgraphError, match=r"^[^\n]* is larger than [\d,]+ bytes[^\n]*$"):
                await ask(url)
            held = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if server.endless:
            await asyncio.wait_for(server.hung_up.wait(), 20)
    assert server.requests == 1
    assert max(server.sent, held) < MOST


TRICKLING: dict[str, Callable[[], RawServer]] = {
    "body": lambda: RawServer([b" "], endless=True, wait=0.05),
    "headers": lambda: RawServer([b"x"], endless=True, wait=0.05, head=b"HTTP/1.1 200 OK\r\nx-long: "),
    "events": lambda: RawServer([EVENT % b"x"], "content-type: text/event-stream", endless=True, wait=0.05),
    "comments": lambda: RawServer([b": wait\n\n"], "content-type: text/event-stream", endless=True, wait=0.05),
}


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize(
    "kind", ["body", *(pytest.param(kind, marks=pytest.mark.slow) for kind in TRICKLING if kind != "body")]
)
async def test_a_reply_that_trickles_in_is_no_reply_in_time(kind: str, ask: Ask) -> None:
    server = TRICKLING[kind]()
    async with server.at() as url:
        with pytest.raises(HopgraphError, match=r"^[^\n]*no (reply in time|answer in)[^\n]*$") as raised:
            await ask(url, 0.2, retries=0)
        await asyncio.wait_for(server.hung_up.wait(), 20)
    assert (raised.value.trouble, server.requests) == ("outage", 1)


async def test_a_model_of_the_callers_own_is_given_up_too() -> None:
    async def never(messages: Any) -> Any:
        await asyncio.Event().wait()

    handle = await resolve_model(RunnableLambda(never), Sampling(request_timeout=0.02))
    with pytest.raises(ModelError, match="no reply in time; raise request_timeout"):
        await send(handle, MESSAGES, Known, options(retries=0))


async def test_a_stream_that_goes_on_may_take_longer_than_a_whole_reply() -> None:
    events = [EVENT % each for each in (b'{\\"know', b'ledge\\":', b' \\"Am ', b"Rhein", b'.\\"}')]
    server = RawServer([*events, b"data: [DONE]\n\n"], "content-type: text/event-stream", wait=0.2)
    async with server.at() as url:
        began = time.monotonic()
        assert (await streamed(url, 0.6)).text == '{"knowledge": "Am Rhein."}'
        assert time.monotonic() - began > 0.6


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream"])
async def test_deep_nesting_is_an_unreadable_reply(media_type: str, ask: Ask) -> None:
    body = NESTED if "json" in media_type else b"data: " + NESTED + b"\n\n"
    async with RawServer([body], f"content-type: {media_type}").at() as url:
        with pytest.raises(HopgraphError, match=r"^[^\n]*not (in the OpenAI format|JSON)[^\n]*$"):
            await ask(url, retries=0)


@pytest.mark.parametrize("depth", [50, 300, 500, 900, 950, 980, 1_100])
@pytest.mark.parametrize("form", [b'{"message": {"content": %s}}', b'{"message": {"tool_calls": %s}}', b"%s"])
async def test_no_depth_raises_a_raw_error(form: bytes, depth: int) -> None:
    choice = form % (b'{"a":' * depth + b"1" + b"}" * depth)
    async with RawServer([b'{"choices": [' + choice + b"]}"]).at() as url:
        try:
            await by_spec(url, retries=0)
        except ModelError as error:
            assert "\n" not in str(error)  # noqa: PT017 - or it is read


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize(
    ("encoding", "body"),
    [("br", b"\x0b\x02\x80{}\x03"), ("gzip", b"no gzip"), ("gzip, gzip", b"{}")],
    ids=["brotli", "no gzip", "twice"],
)
async def test_what_cannot_be_unpacked_is_an_unreadable_reply(encoding: str, body: bytes, ask: Ask) -> None:
    async with RawServer([body], f"content-encoding: {encoding}").at() as url:
        with pytest.raises(HopgraphError, match=r"^[^\n]*not (in the OpenAI format|JSON)[^\n]*$"):
            await ask(url, retries=0)


async def test_a_long_stream_is_read_in_linear_time() -> None:
    """The partial texts that are passed on add up to a small multiple of the reply's length, not to its square."""
    count, told = 2_000, list[int]()
    events = EVENT % b'{\\"knowledge\\": \\"' + EVENT % (b"a" * 1000) * count + EVENT % b'\\"}' + b"data: [DONE]\n\n"
    async with RawServer([events], headers="content-type: text/event-stream").at() as url:
        handle = await resolve_model(f"openai:m?base_url={url}", Sampling(request_timeout=60))
        how = SendOptions(parallel=1, retries=0, on_text=lambda text: told.append(len(text)))
        reply = await send(handle, MESSAGES, Known, how)
    assert Known.model_validate_json(reply.text).knowledge == "a" * 1000 * count
    assert told == sorted(told)
    assert told[0] < 20  # at once
    assert told[-1] == len(reply.text)
    assert sum(told) < 8 * len(reply.text)
