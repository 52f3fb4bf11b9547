"""Recognition of index folders and their builds, without importing the packages that open an index."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue

from hopgraph.state import CorpusError
from hopgraph.tools.io.guarded_files import read_source
from hopgraph.tools.retrieval.staging import is_being_built

INDEX_MANIFEST = "manifest.json"
INDEX_KINDS = frozenset({"bm25", "colbert", "faiss", "hybrid"})
"""Kinds of retrievers whose specs name a local folder."""
OpenedT = TypeVar("OpenedT")
BuildId = tuple[int, ...]
_TRIES, _SECONDS_BETWEEN = 8, 0.02


def is_index(folder: Path) -> bool:
    """Return whether a folder has the manifest of an index, of any version."""
    try:
        content: JsonValue = json.loads(read_source(folder / INDEX_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("kind") == "hopgraph-index"


def index_folder(retriever: object) -> Path | None:
    """Return the folder of the index that a retriever's spec names; None for an object, or where there is no index."""
    if not isinstance(retriever, str):
        return None
    kind, colon, place = retriever.partition(":")
    folder = Path(place.partition("?")[0] if colon and kind in INDEX_KINDS else retriever).expanduser()
    return folder if is_index(folder) else None


def build_id(folder: Path, name: str = INDEX_MANIFEST) -> BuildId:
    """Return the identity of an index's current build, from one of its files; empty if there is none."""
    try:
        found = (folder / name).stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size


def open_one_build(folder: Path, open_files: Callable[[], OpenedT]) -> OpenedT:
    """Open the files of an index, again if it is replaced meanwhile, so that all belong to one build.

    Raises the CorpusError of an index that is not being replaced.
    """
    for attempt in range(1, _TRIES + 1):
        build = build_id(folder)
        try:
            opened = open_files()
        except (CorpusError, FileNotFoundError):  # a file may vanish between two checks
            is_moved = not folder.exists() and is_being_built(folder)
            if attempt == _TRIES or not (is_moved or build != build_id(folder)):
                raise
        else:
            if build == build_id(folder):
                return opened
        time.sleep(_SECONDS_BETWEEN)
    raise CorpusError(f"{folder}: it is being replaced faster than it can be opened; try again")
