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
        SettingsError: the folder cannot be written.
    """
    target = _file(folder, key)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, prefix=".", suffix=".part", delete=False
        ) as part:
            json.dump({"role": role, "reply": reply}, part, ensure_ascii=False)
        os.replace(part.name, target)
    except OSError as error:
        raise SettingsError(f"cache_dir {folder!r} cannot be written: {error.strerror}") from None


def _file(folder: str, key: str) -> Path:
    return Path(folder) / key[:2] / f"{key}.json"
