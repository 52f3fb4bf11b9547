"""Web pages as search engines return them, cleaned and truncated; and an engine as an index with an optional cache."""

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from hopgraph.state import SettingsError
from hopgraph.tools.io.background import in_search_thread
from hopgraph.tools.io.guarded_files import make_cache, write_private
from hopgraph.tools.prompts import clean
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_store import StoredPassage
from hopgraph.tools.text import split_sentences

MAX_PASSAGE_TEXT = 4000
"""Maximum characters of a page's text; a longer one is cut at the end of a sentence."""
_SENTENCE_ENDS = (".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f")


@dataclass(frozen=True)
class WebPage:
    """One search result."""

    url: str
    title: str
    text: str


def make_page(url: object, title: object, *texts: object) -> WebPage | None:
    """Return a page from untrusted values; None without text, or without a web address, which a citation needs."""
    address = _clean_text(url)
    parts = [part for part in map(_clean_text, texts) if part]
    if not address.startswith(("http://", "https://")) or not parts:
        return None
    return WebPage(address, _clean_text(title), _cut(_join(parts)))


def merge_by_address(pages: Iterable[WebPage | None]) -> list[WebPage]:
    """Merge pages with the same address: the first title, and each text once, in order; None is skipped."""
    merged: dict[str, WebPage] = {}
    for page in pages:
        known = merged.get(page.url) if page else None
        if page and (known is None or page.text not in known.text):
            text = _cut(_join([known.text, page.text])) if known else page.text
            merged[page.url] = WebPage(page.url, known.title if known else page.title, text)
    return list(merged.values())


def _clean_text(value: Any) -> str:
    return clean(str(value)).strip() if isinstance(value, str | int | float) else ""


def _join(parts: Sequence[str]) -> str:
    *first, last = parts
    return " ".join([*(part if part.endswith(_SENTENCE_ENDS) else f"{part}." for part in first), last])


def _cut(text: str) -> str:
    if len(text) <= MAX_PASSAGE_TEXT:
        return text
    ends = [end for _, end in split_sentences(text[:MAX_PASSAGE_TEXT])]
    return text[: ends[-2] if len(ends) > 1 else MAX_PASSAGE_TEXT]


_FORMAT = 1


class _Record(BaseModel):
    at: float
    """Seconds since the epoch."""
    query: str
    pages: list[WebPage]


@dataclass(frozen=True)
class WebCache:
    """A file per search, named by a hash of the index's `cache_key`, the query and the number of results."""

    folder: Path
    seconds: float
    """Maximum age of results, in seconds."""

    def __post_init__(self) -> None:
        """Create the folder; SettingsError if it cannot be created or written."""
        try:
            make_cache(self.folder)
        except OSError as error:
            raise self._error(error) from None

    def read(self, key: str, query: str, k: int) -> list[WebPage] | None:
        """Return cached results; None if there are none, they are too old, or the file is damaged."""
        try:
            record = _Record.model_validate_json(self._place(key, query, k).read_bytes())
        except (OSError, ValueError):
            return None
        return record.pages if 0 <= time.time() - record.at <= self.seconds else None

    def write(self, key: str, query: str, k: int, pages: Sequence[WebPage]) -> None:
        """Store results atomically; several processes may share a folder."""
        record = _Record(at=time.time(), query=query, pages=list(pages))
        try:
            write_private(self._place(key, query, k), record.model_dump_json().encode())
        except OSError as error:
            raise self._error(error) from None

    def _place(self, key: str, query: str, k: int) -> Path:
        name = hashlib.sha256(json.dumps([_FORMAT, key, query, k]).encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json"

    def _error(self, error: OSError) -> SettingsError:
        return SettingsError(f"the cache {self.folder} cannot be written: {error.strerror or error}")


@dataclass(frozen=True)
class WebIndex:
    """A search engine as an index. Results change with the web: cache them to repeat a run."""

    max_results: int
    """Maximum number of results the engine returns."""
    cache_key: str
    """Identifies the engine and the settings that affect results, without keys."""
    search: Callable[[str, int], Awaitable[list[WebPage]]] = field(repr=False)
    """Returns at most k pages for a query, best first; raises CorpusError, one line without keys."""
    cache: WebCache | None = None
    source: None = None

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Return pages in the engine's order, with address as id and 1 / rank as score; none for a blank query."""
        k = min(k, self.max_results)
        query = " ".join(query.encode(errors="ignore").decode().split())
        if k < 1 or not query:
            return []
        pages = await in_search_thread(self.cache.read, self.cache_key, query, k) if self.cache else None
        if pages is None:
            pages = await self.search(query, k)
            if self.cache:
                await in_search_thread(self.cache.write, self.cache_key, query, k, pages)
        passages = (StoredPassage(page.url, page.title, page.text, {"url": page.url}) for page in pages)
        return [Hit(passage, 1 / rank) for rank, passage in enumerate(passages, start=1)]
