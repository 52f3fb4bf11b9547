"""Keep replies on disk, so that the same prompt is paid for once.

One file per reply, named by a hash of everything that shapes it: role, messages, model, sampling, sample
number and schema. Written to a temporary name and renamed, so that a crash leaves no half file and two
processes may share a folder.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from hopgraph.state import SettingsError

_FORMAT = 1


def cache_key(parts: Mapping[str, JsonValue]) -> str:
    """Hash everything that shapes a reply."""
    text = json.dumps({"format": _FORMAT, **parts}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_cache(folder: str, key: str) -> str | None:
    """Get a kept reply; None when there is none or its file is damaged."""
    try:
        record = cast("object", json.loads(_file(folder, key).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not isinstance(record, dict):
        return None
    reply = cast("dict[str, object]", record).get("reply")
    return reply if isinstance(reply, str) else None


def write_cache(folder: str, key: str, role: str, reply: str) -> None:
    """Keep a reply.

    Raises:
        OSError: it cannot be written; nothing of it is left behind.
    """
    target = _file(folder, key)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, suffix=".part", delete=False) as part:
        try:
            json.dump({"role": role, "reply": reply}, part)
            part.close()
            os.replace(part.name, target)
        except OSError:
            Path(part.name).unlink(missing_ok=True)
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
