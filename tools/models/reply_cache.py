"""Keep replies on disk, so that the same prompt is paid for once.

Every reply is kept as it came, also one that could not be used, with its tokens: a run that is replayed
takes the same way and counts the same. One file per reply, named by a hash of everything that shapes it:
role, messages, model, sampling, sample number and schema. Written to a temporary name and renamed, so that
a crash leaves no half file and two processes may share a folder.
"""

import asyncio
import hashlib
import json
import os
import tempfile
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

from pydantic import JsonValue

from hopgraph.state import SettingsError

_FORMAT = 2


def cache_key(parts: Mapping[str, JsonValue]) -> str:
    """Hash everything that shapes a reply."""
    text = json.dumps({"format": _FORMAT, **parts}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class KeptReply:
    """One reply as it came, usable or not, with what it cost."""

    role: str
    reply: str
    problem: str = ""
    """Why the text cannot hold the whole record (cut off, refused); empty when nothing is known."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


_SHAPE = ("", "", "", 0, 0)
_under_way: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], asyncio.Event]] = WeakKeyDictionary()


@asynccontextmanager
async def kept_reply(folder: str, key: str) -> AsyncGenerator[KeptReply | None]:
    """Look a reply up; while the block of a caller who found none runs, others with the same key wait for it.

    So two questions that lead to the same prompt at the same time pay once. The block keeps the reply that
    it gets by `write_cache`; if it does not, one of those that wait takes its place.
    """
    waiting = _under_way.setdefault(asyncio.get_running_loop(), {})
    place = folder, key
    while (kept := await asyncio.to_thread(read_cache, folder, key)) is None and (other := waiting.get(place)):
        await other.wait()
    if kept is not None:
        yield kept
        return
    done = waiting[place] = asyncio.Event()
    try:
        yield None
    finally:
        del waiting[place]
        done.set()


def read_cache(folder: str, key: str) -> KeptReply | None:
    """Get a kept reply; None when there is none or its file is damaged."""
    try:
        record = cast("object", json.loads(_file(folder, key).read_bytes()))
        kept = KeptReply(**cast("dict[str, Any]", record)) if isinstance(record, dict) else None
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return None
    if kept is None or any(not isinstance(value, type(of)) for value, of in zip(astuple(kept), _SHAPE, strict=True)):
        return None
    return kept


def write_cache(folder: str, key: str, reply: KeptReply) -> None:
    """Keep a reply.

    Raises:
        OSError: it cannot be written; nothing of it is left behind.
    """
    target = _file(folder, key)
    part = f"{target}.{uuid.uuid4().hex}.part"
    # ASCII, since a reply may hold lone surrogates.
    content = json.dumps(vars(reply)).encode("ascii")
    try:
        try:
            opened = open(part, "xb")  # noqa: SIM115 - Path.open is slower, and this is done for every reply
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            opened = open(part, "xb")  # noqa: SIM115
        with opened:
            opened.write(content)
        os.replace(part, target)
    except OSError:
        Path(part).unlink(missing_ok=True)
        raise


def check_cache(folder: str) -> None:
    """Check that replies can be kept, before anything is spent.

    Raises:
        SettingsError: the folder cannot be made or written.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise SettingsError(f"cache_dir {folder!r} cannot be written: {error.strerror}") from None


def _file(folder: str, key: str) -> Path:
    return Path(folder) / key[:2] / f"{key}.json"
