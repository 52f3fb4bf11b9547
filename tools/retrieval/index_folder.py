"""Recognition of index folders, without the packages that open one."""

import json
from pathlib import Path

from pydantic import JsonValue

from hopgraph.tools.io.guarded_files import read_source

INDEX_MANIFEST = "manifest.json"
INDEX_KINDS = frozenset({"bm25", "colbert", "faiss", "hybrid"})
"""The kinds of retrievers whose specs name a folder of this machine."""


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
