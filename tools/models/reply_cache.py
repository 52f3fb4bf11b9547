"""A cache of replies on disk, so that the same prompt is paid for once.

Every reply is stored as it came, also one that could not be used, with its tokens: a run that is replayed
takes the same path and counts the same. One file per reply, named by a hash of everything that shapes it:
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


@dataclass(frozen=True)
class ModelReply:
    """What came back for one request, usable or not."""

    text: str
    problem: str = ""
    """Why the text cannot hold the whole record (cut off, refused); empty when nothing is known."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


_FIELD_TYPES = (str, str, int, int)
_pending: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], asyncio.Event]] = WeakKeyDictionary()


def cache_key(parts: Mapping[str, JsonValue]) -> str:
    """Hash everything that shapes a reply."""
    text = json.dumps({"format": _FORMAT, **parts}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@asynccontextmanager
async def cached_reply(folder: str, key: str) -> AsyncGenerator[ModelReply | None]:
    """Look a reply up; while the block of a caller who got None runs, others with the same key wait for it.

    So two questions that lead to the same prompt at the same time pay once. The block stores its reply by
    `write_cache`; if it does not, one of those that wait gets None in turn.
    """
    pending = _pending.setdefault(asyncio.get_running_loop(), {})
    place = folder, key
    while (reply := await asyncio.to_thread(read_cache, folder, key)) is None and (other := pending.get(place)):
        await other.wait()
    if reply is not None:
        yield reply
        return
    done = pending[place] = asyncio.Event()
    try:
        yield None
    finally:
        del pending[place]
        done.set()


def read_cache(folder: str, key: str) -> ModelReply | None:
    """Return a stored reply; None when there is none or its file is damaged."""
    try:
        record = cast("dict[str, Any]", json.loads(_file(folder, key).read_bytes()))
        del record["role"]
        reply = ModelReply(record.pop("reply"), **record)
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, AttributeError, KeyError):
        return None
    return reply if all(map(isinstance, astuple(reply), _FIELD_TYPES)) else None


def write_cache(folder: str, key: str, role: str, reply: ModelReply) -> None:
    """Store a reply.

    Raises:
        OSError: it cannot be written; nothing of it is left behind.
    """
    target = _file(folder, key)
    part = f"{target}.{uuid.uuid4().hex}.part"
    fields = vars(reply).copy()
    # ASCII, since a reply may hold lone surrogates.
    content = json.dumps({"role": role, "reply": fields.pop("text"), **fields}).encode("ascii")
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
    """Check that replies can be stored, before anything is spent.

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
