"""A search engine as an index, whose results may be kept on disk: the same search is paid for once."""

import hashlib
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from hopgraph.state import SettingsError
from hopgraph.tools.io.atomic_files import write_files
from hopgraph.tools.io.background import background_loop, in_search_thread, run_on
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_store import StoredPassage
from hopgraph.tools.retrieval.web.web_pages import WebEngine, WebPage

_FORMAT = 1


class _Record(BaseModel):
    at: float
    """Seconds since the epoch."""
    query: str
    pages: list[WebPage]


@dataclass(frozen=True)
class WebCache:
    """One file per search, named by a hash of the engine's `cache_key`, the query and the number of results."""

    folder: Path
    seconds: float
    """How old results may be."""

    def __post_init__(self) -> None:
        """Make the folder; SettingsError where it cannot be made or written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise self._error(error) from None

    def read(self, key: str, query: str, k: int) -> list[WebPage] | None:
        """Return cached results; None when there are none, they are too old, or the file is damaged."""
        try:
            record = _Record.model_validate_json(self._file(key, query, k).read_bytes())
        except (OSError, ValueError):
            return None
        return record.pages if 0 <= time.time() - record.at <= self.seconds else None

    def write(self, key: str, query: str, k: int, pages: Sequence[WebPage]) -> None:
        """Store results; a crash leaves no half file, and two processes may share a folder."""
        record = _Record(at=time.time(), query=query, pages=list(pages))
        try:
            write_files({self._file(key, query, k): record.model_dump_json().encode()})
        except OSError as error:
            raise self._error(error) from None

    def _file(self, key: str, query: str, k: int) -> Path:
        name = hashlib.sha256(json.dumps([_FORMAT, key, query, k]).encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json"

    def _error(self, error: OSError) -> SettingsError:
        return SettingsError(f"the cache {self.folder} cannot be written: {error.strerror or error}")


@dataclass(frozen=True)
class WebIndex:
    """A search engine as an index; results change with the web: cache them to repeat a run."""

    engine: WebEngine
    cache: WebCache | None = None
    source: None = None

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Find pages in the engine's order, with their address as id; none for a blank query.

        Engines return ranks, no scores, so the score is 1 / rank.
        """
        k = min(k, self.engine.most)
        query = " ".join(query.encode(errors="ignore").decode().split())
        if k < 1 or not query:
            return []
        key = self.engine.cache_key
        pages = await in_search_thread(self.cache.read, key, query, k) if self.cache else None
        if pages is None:
            pages = await run_on(background_loop(), self.engine.search(query, k))
            if self.cache:
                await in_search_thread(self.cache.write, key, query, k, pages)
        passages = (StoredPassage(page.url, page.title, page.text) for page in pages)
        return [Hit(passage, 1 / rank) for rank, passage in enumerate(passages, start=1)]
