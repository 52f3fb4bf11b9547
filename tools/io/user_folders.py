"""The folders of the current user, where the system keeps them."""

import os
import sys
from pathlib import Path
from typing import Literal

_ON_LINUX = {"cache": ("XDG_CACHE_HOME", ".cache"), "data": ("XDG_DATA_HOME", ".local/share")}
_ON_MAC = {"cache": "Caches", "data": "Application Support"}


def user_folder(kind: Literal["cache", "data"]) -> Path:
    """Return hopgraph's folder for data that can be regenerated (`cache`), or that cannot (`data`); may not exist."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / _ON_MAC[kind] / "hopgraph"
    if sys.platform == "win32":
        local = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        return local / "hopgraph" / ("Cache" if kind == "cache" else "")
    variable, usual = _ON_LINUX[kind]
    return Path(os.environ.get(variable) or home / usual) / "hopgraph"
