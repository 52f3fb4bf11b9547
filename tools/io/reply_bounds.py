"""Bounds on the size and the duration of a server's reply: httpx has neither."""

import asyncio
import sys
import zlib
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

LARGEST_REPLY = 32 * 1024**2
"""Bytes of a reply, unpacked; `request.extensions["largest"]` says otherwise."""
LONGER = 10
"""How many times `request_timeout` a reply may take that arrives piece by piece."""
_PIECE = 64 * 1024
_UNPACKED, _PACKED = ("gzip", "deflate"), frozenset({"gzip", "deflate", "br", "zstd"})


class OversizedReplyError(Exception):
    """A reply that is larger than any that was asked for; asked again, the server would send the same."""


def time_limit(seconds: float, whole: bool) -> asyncio.Timeout:
    """Return a limit for one request in all, as httpx's own is for each piece of the reply."""
    return asyncio.timeout(seconds if whole else seconds * LONGER)


async def ask_for_plain(request: Any) -> None:
    """Ask for replies that are not compressed; a hook of an httpx client."""
    request.headers["accept-encoding"] = "identity"


async def bound_reply(response: Any) -> None:
    """Let a reply end with an OversizedReplyError at its limit; a hook of an httpx client, before any that reads.

    What is compressed all the same is unpacked here, in small pieces. ValueError where that cannot be done.
    """
    given = response.headers.get("content-encoding", "").lower().split(",")
    packed = [each.strip() for each in given if each.strip() in _PACKED]
    if packed and (len(packed) > 1 or packed[0] not in _UNPACKED):
        raise ValueError(f"the reply is compressed as {', '.join(packed)}, which was not asked for")
    if packed:
        del response.headers["content-encoding"]
    largest = response.request.extensions.get("largest", LARGEST_REPLY)
    # The openai package has moved from httpx to httpx2.
    stream_class = _bounded_class(sys.modules[type(response).__module__].AsyncByteStream)
    response.stream = stream_class(response.stream, largest, bool(packed))


@cache
def _bounded_class(base: Any) -> Any:
    class BoundedStream(base):
        def __init__(self, stream: Any, largest: int, packed: bool) -> None:
            self._stream, self._largest, self._left = stream, largest, largest
            self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if packed else None  # 32: gzip or zlib

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._stream:
                left = piece
                while left:
                    plain, left = self._unpack(left)
                    self._left -= len(plain)
                    if self._left < 0:
                        raise OversizedReplyError(f"the reply is larger than {self._largest:,} bytes")
                    yield plain

        def _unpack(self, piece: bytes) -> tuple[bytes, bytes]:
            """Return the next bytes of the reply, and what is left of a piece."""
            if not self._unpacker:
                return piece, b""
            try:
                return self._unpacker.decompress(piece, _PIECE), self._unpacker.unconsumed_tail
            except zlib.error as error:
                raise ValueError(f"the reply cannot be unpacked: {error}") from None

        async def aclose(self) -> None:
            await self._stream.aclose()

    return BoundedStream
