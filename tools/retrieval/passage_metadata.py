"""Metadata of a passage: JSON values, and its location in the source."""

import re
from collections.abc import Mapping
from pathlib import PurePath, PurePosixPath
from typing import cast
from urllib.parse import unquote, urlsplit

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from hopgraph.state import Citation, SourceLocation
from hopgraph.tools.prompts import clean

Metadata = Mapping[str, JsonValue]
"""As in LangChain's documents; `source`, `page` (from 1), `section` and `url` locate a passage."""
INDEX = "index"
"""Key of the index that a passage without its own source is from; set by our retrievers."""
LINKED_FROM = "linked_from"
"""Key of the title of the passage whose link led to this one; set by our retrievers."""
HREFS = "hrefs"
"""Key of a passage's HTML links to other documents, as written there."""
LANGUAGE = "language"
"""Key of the code of a passage's language, if it was detected reliably."""
_MAX_KEYS, _MAX_VALUE = 64, 2000
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def plain_metadata(values: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return untrusted metadata as JSON values: other values as text, without long or unreadable ones.

    Strings are cleaned of invisible characters and cut at 2,000; at most 64 keys are kept.
    """
    plain: dict[str, JsonValue] = {}
    for name, value in list(values.items())[:_MAX_KEYS]:
        key = clean(str(name))
        if isinstance(value, str):
            plain[key] = clean(value)[:_MAX_VALUE]
            continue
        try:
            content = to_json(value, fallback=str, inf_nan_mode="null")
        except ValueError:
            continue  # a lone surrogate, or a value that contains itself
        if len(content) <= _MAX_VALUE and rb"\u0000" not in content and content != b"null":
            plain[key] = from_json(content)
    return plain


def find_location(metadata: Metadata) -> SourceLocation:
    """Return a passage's location in its source from its metadata, without unknown fields."""
    source, url = (_text(metadata.get(key)) for key in ("source", "url"))
    source = source or _text(metadata.get("file_path")) or url
    url = url if _is_web(url) else source if _is_web(source) else ""
    # LangChain's PDF loader counts pages from 0; the label is the printed number.
    page = metadata.get("page_label") or metadata.get("page") or metadata.get("page_number")
    found: dict[str, JsonValue] = {"source": source, "section": _text(metadata.get("section")), "url": url}
    if isinstance(page, int | str) and not isinstance(page, bool):
        found["page"] = page
    return cast("SourceLocation", {key: value for key, value in found.items() if value})


def name_source(origin: SourceLocation) -> str:
    """Return a source's name for users: the file's name, or the address without its query; empty if unknown."""
    source = origin.get("source", "")
    if _is_web(source):
        parts = urlsplit(source)
        return f"{parts.netloc.rpartition('@')[2]}{unquote(parts.path)}".rstrip("/")
    return PurePath(source).name or source


def locate_source(origin: SourceLocation) -> str:
    """Return a file's path below the indexed folder, e.g. `hr/README.md`; else the result of `name_source`."""
    source = origin.get("source", "")
    path = PurePosixPath(source)
    is_below = not (_is_web(source) or path.is_absolute() or ".." in path.parts or "\\" in source or source[1:2] == ":")
    return source if is_below else name_source(origin)


def describe_location(origin: SourceLocation) -> str:
    """Return the file or address, and the page, e.g. `hr/handbook.pdf, page 3`; empty if both are unknown."""
    page = origin.get("page", "")
    return ", ".join(part for part in (locate_source(origin), f"page {page}" if page else "") if part)


def name_citation(citation: Citation) -> str:
    """Return a citation's title, else the name of its source, else its passage id unless that is a UUID."""
    key = "" if _UUID.fullmatch(citation["passage_id"]) else citation["passage_id"]
    return citation["title"] or name_source(citation) or key or "a passage without a title"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _is_web(address: str) -> bool:
    return address.lower().startswith(("https://", "http://"))
