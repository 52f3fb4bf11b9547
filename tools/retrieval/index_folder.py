"""How a folder that is an index is recognised, without the packages that open one."""

import json
from pathlib import Path

from pydantic import JsonValue

from hopgraph.tools.io.guarded_files import open_inside

MANIFEST = "manifest.json"


def is_index(folder: Path) -> bool:
    """Whether a folder has the manifest of an index, of any version."""
    try:
        with open_inside(folder, MANIFEST) as file:
            content: JsonValue = json.load(file)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("kind") == "hopgraph-index"
