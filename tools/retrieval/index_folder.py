"""Recognition of index folders, without the packages that open one."""

import json
from pathlib import Path

from pydantic import JsonValue

from hopgraph.tools.io.guarded_files import read_source

INDEX_MANIFEST = "manifest.json"


def is_index(folder: Path) -> bool:
    """Return whether a folder has the manifest of an index, of any version."""
    try:
        content: JsonValue = json.loads(read_source(folder / INDEX_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("kind") == "hopgraph-index"
