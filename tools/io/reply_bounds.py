"""Bounds on the size and duration of a server's reply: httpx has neither."""

import asyncio
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from functools import cache, partial
from typing import Any

LARGEST_REPLY = 32 * 1024**2
"""Bytes of a reply, unpacked; `request.extensions["largest"]` says otherwise."""
LONGER = 10
"""Factor on `request_timeout` for a reply that arrives piece by piece."""
_PIECE = 64 * 1024
_UNPACKED, _PACKED = ("gzip", "deflate"), frozenset({"gzip", "deflate", "br", "zstd"})


class OversizedReplyError(Exception):
    """A reply larger than any that was asked for; a retry would get the same."""


def time_limit(seconds: float, whole: bool) -> asyncio.Timeout:
    """Return a total time limit for one request, as httpx's own applies to each piece of the reply."""
    return asyncio.timeout(seconds if whole else seconds * LONGER)


async def ask_for_plain(request: Any) -> None:
    """Ask for uncompressed replies; a hook of an httpx client."""
    request.headers["accept-encoding"] = "identity"


async def bound_reply(response: Any) -> None:
    """Raise an OversizedReplyError when a reply reaches its limit; a hook of an httpx client, before any that reads.

    What is compressed all the same is unpacked here, in small pieces. ValueError where that cannot be done.
    """
    given = response.headers.get("content-encoding", "").lower().split(",")
    packed = [each.strip() for each in given if each.strip() in _PACKED]
    if packed and (len(packed) > 1 or packed[0] not in _UNPACKED):
        raise ValueError(f"the reply is compressed as {', '.join(packed)}, which was not asked for")
    if packed:
        del response.headers["content-encoding"]
    largest = response.request.extensions.get("largest", LARGEST_REPLY)
    replace_body(response, partial(_bounded, largest=largest, is_packed=bool(packed)))


def replace_body(response: Any, change: Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]) -> None:
    """Let a function modify the pieces of a reply in transit, before any of it is read."""
    # The openai package has moved from httpx to httpx2.
    stream_class = _changed_class(sys.modules[type(response).__module__].AsyncByteStream)
    response.stream = stream_class(response.stream, change)


@cache
def _changed_class(base: Any) -> Any:
    class ChangedStream(base):
        def __init__(self, stream: Any, change: Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]) -> None:
            self._stream, self._change = stream, change

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._change(aiter(self._stream)):
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    return ChangedStream


async def _bounded(pieces: AsyncIterator[bytes], *, largest: int, is_packed: bool) -> AsyncIterator[bytes]:
    size, unpacker = 0, zlib.decompressobj(zlib.MAX_WBITS | 32) if is_packed else None  # 32: gzip or zlib
    async for piece in pieces:
        left = piece
        while left:
            try:
                plain, left = (unpacker.decompress(left, _PIECE), unpacker.unconsumed_tail) if unpacker else (left, b"")
            except zlib.error as error:
                raise ValueError(f"the reply cannot be decompressed: {error}") from None
            size += len(plain)
            if size > largest:
                raise OversizedReplyError(f"the reply is larger than {largest:,} bytes")
            yield plain
