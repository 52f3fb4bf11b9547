"""Metadata of a passage: plain JSON values, and its location in the source."""

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
"""As LangChain's documents have it; `source`, `page` (from 1), `section` and `url` say where a passage stands."""
INDEX = "index"
"""The key under which our retrievers name the index that a passage without its own source is from."""
LINKED_FROM = "linked_from"
"""The key under which our retrievers name the passage whose link brought one here."""
HREFS = "hrefs"
"""The key under which a passage has the links of its HTML, as they stand there, to documents beside its own."""
LANGUAGE = "language"
"""The key under which a passage has the code of its language, where that is surely known."""
_MOST_KEYS, _LONGEST_VALUE = 64, 2000
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def plain_metadata(values: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return untrusted metadata as JSON values, others as text, and long or unreadable ones left out.

    Strings are cleaned of characters that a reader cannot see, and cut at 2,000; at most 64 keys are kept.
    """
    plain: dict[str, JsonValue] = {}
    for name, value in list(values.items())[:_MOST_KEYS]:
        key = clean(str(name))
        if isinstance(value, str):
            plain[key] = clean(value)[:_LONGEST_VALUE]
            continue
        try:
            content = to_json(value, fallback=str, inf_nan_mode="null")
        except ValueError:
            continue  # a lone surrogate, or a value that contains itself
        if len(content) <= _LONGEST_VALUE and rb"\u0000" not in content and content != b"null":
            plain[key] = from_json(content)
    return plain


def find_origin(metadata: Metadata) -> SourceLocation:
    """Return where a passage stands, as far as its metadata says: no field for what is unknown."""
    source, url = (_text(metadata.get(key)) for key in ("source", "url"))
    source = source or _text(metadata.get("file_path")) or url
    url = url if _is_web(url) else source if _is_web(source) else ""
    # LangChain's PDF loader counts pages from 0, and has what is printed on them as their label.
    page = metadata.get("page_label") or metadata.get("page") or metadata.get("page_number")
    found: dict[str, JsonValue] = {"source": source, "section": _text(metadata.get("section")), "url": url}
    if isinstance(page, int | str) and not isinstance(page, bool):
        found["page"] = page
    return cast("SourceLocation", {key: value for key, value in found.items() if value})


def name_source(origin: SourceLocation) -> str:
    """Return what people call a source: the file's name, or the address without its query; empty where unknown."""
    source = origin.get("source", "")
    if _is_web(source):
        parts = urlsplit(source)
        return f"{parts.netloc.rpartition('@')[2]}{unquote(parts.path)}".rstrip("/")
    return PurePath(source).name or source


def locate_source(origin: SourceLocation) -> str:
    """Return the path of a file below the indexed folder, e.g. `hr/README.md`; else what `name_source` returns."""
    source = origin.get("source", "")
    path = PurePosixPath(source)
    is_below = not (_is_web(source) or path.is_absolute() or ".." in path.parts or "\\" in source or source[1:2] == ":")
    return source if is_below else name_source(origin)


def describe_place(origin: SourceLocation) -> str:
    """Return the file, or the address, and the page, e.g. `hr/handbook.pdf, page 3`; empty where both are unknown."""
    page = origin.get("page", "")
    return ", ".join(part for part in (locate_source(origin), f"page {page}" if page else "") if part)


def name_citation(citation: Citation) -> str:
    """Return the title of a citation, else what its source or its passage is called, but no UUID."""
    key = "" if _UUID.fullmatch(citation["passage_id"]) else citation["passage_id"]
    return citation["title"] or name_source(citation) or key or "a passage without a title"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _is_web(address: str) -> bool:
    return address.lower().startswith(("https://", "http://"))
