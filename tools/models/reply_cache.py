"""A cache of replies on disk, so that the same prompt is paid for once.

Every reply is stored as it came, also one that could not be used, with its tokens: a run that is replayed takes the
same path and counts the same. Each has a file, named by a hash of everything that shapes it and written whole, so that
processes may share a folder. A file's time is that of its last use.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from hopgraph.state import SettingsError
from hopgraph.tools.io.guarded_files import make_cache, read_source, write_private

MAX_CACHE_BYTES = 5_000_000_000
"""Largest size on disk of the cache that a user's evaluations share: about a million replies."""
_FORMAT = 2
_FIRST_WAIT, _LONGEST_WAIT = 0.01, 0.1
"""Seconds between looks at a reply that another question is paying for."""


@dataclass(frozen=True)
class ModelReply:
    """The reply to one request, usable or not."""

    text: str
    problem: str = ""
    """Why the text cannot hold the whole record (cut off, refused); empty when nothing is known."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


def cache_key(parts: Mapping[str, JsonValue]) -> str:
    """Hash everything that shapes a reply."""
    text = json.dumps({"format": _FORMAT, **parts}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_under_way: dict[tuple[str, str], object] = {}
"""Folder and key of each reply that this process is paying for, with the caller that pays."""


@asynccontextmanager
async def cached_reply(folder: str, key: str) -> AsyncGenerator[ModelReply | None]:
    """Look a reply up; while the block of a caller who got None runs, others of this process with the same key wait.

    So the same prompt at the same time is paid for once. The block stores its reply by `write_cache`; if it does not,
    one of those that wait gets None in turn.
    """
    wait, place, caller = _FIRST_WAIT, (folder, key), object()
    try:
        while (reply := await asyncio.to_thread(read_cache, folder, key)) is None:
            if _under_way.setdefault(place, caller) is caller:  # one step: event loops of other threads ask, too
                reply = await asyncio.to_thread(read_cache, folder, key)  # stored since the look before, perhaps
                break
            await asyncio.sleep(wait)  # no thread waits: one may be missing where that which is waited for is stored
            wait = min(2 * wait, _LONGEST_WAIT)
        yield reply
    finally:
        if _under_way.get(place) is caller:
            del _under_way[place]


def read_cache(folder: str, key: str) -> ModelReply | None:
    """Return a stored reply; None when there is none or its file is damaged."""
    place = _place(folder, key)
    try:
        record = cast("dict[str, Any]", json.loads(read_source(place)))
        del record["role"]
        reply = ModelReply(record.pop("reply"), **record)
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None
    with suppress(OSError):
        os.utime(place)
    return reply if all(map(isinstance, astuple(reply), (str, str, int, int))) else None


def write_cache(folder: str, key: str, role: str, reply: ModelReply) -> None:
    """Store a reply; OSError if it cannot be written, and nothing of it is left behind."""
    fields = vars(reply).copy()
    # ASCII, since a reply may hold lone surrogates.
    content = json.dumps({"role": role, "reply": fields.pop("text"), **fields}).encode("ascii")
    write_private(_place(folder, key), content)


def check_cache(folder: str) -> None:
    """Refuse a folder that cannot be made or written (SettingsError), before anything is spent."""
    try:
        make_cache(Path(folder))
    except OSError as error:
        raise SettingsError(f"cache_dir {folder!r} cannot be written: {error.strerror}") from None


def trim_cache(folder: Path, most: int = MAX_CACHE_BYTES) -> None:
    """Remove the replies that were used longest ago until a folder's caches take at most nine tenths of `most`.

    Nothing is removed while they take no more than `most` bytes of the disk. Blocks.
    """
    replies: list[tuple[float, int, Path]] = []
    for path in folder.glob(f"*/[0-9a-f][0-9a-f]/{'[0-9a-f]' * 64}.json"):
        with suppress(OSError):  # another process has removed it
            about = path.stat()
            replies.append((about.st_mtime, getattr(about, "st_blocks", 0) * 512 or about.st_size, path))
    taken = sum(size for _, size, _ in replies)
    if taken <= most:
        return
    for _, size, path in sorted(replies):
        if taken <= 0.9 * most:
            break
        with suppress(OSError):
            path.unlink()
        taken -= size


def _place(folder: str, key: str) -> Path:
    return Path(folder, key[:2], f"{key}.json")
