"""Results of searches on disk, for as long as they are fresh: the same search is paid for once."""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from hopgraph.state import SettingsError
from hopgraph.tools.retrieval.web.search_apis import WebEngine, WebPage

_FORMAT = 1


@dataclass(frozen=True)
class WebCache:
    """One file per search, named by a hash of the engine, its settings, the query and the number of results."""

    folder: Path
    seconds: float
    """How old results may be."""

    def __post_init__(self) -> None:
        """Make the folder.

        Raises:
            SettingsError: it cannot be made or written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise SettingsError(f"the cache {self.folder} cannot be written: {error.strerror or error}") from None

    def read(self, engine: WebEngine, query: str, k: int) -> list[WebPage] | None:
        """Get kept results; None when there are none, they are too old, or the file is damaged."""
        try:
            kept = cast("dict[str, Any]", json.loads(self._file(engine, query, k).read_bytes()))
            age = time.time() - float(kept["at"])
            pages = [WebPage(**page) for page in kept["pages"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        whole = all(isinstance(value, str) for page in pages for value in asdict(page).values())
        return pages if whole and 0 <= age <= self.seconds else None

    def write(self, engine: WebEngine, query: str, k: int, pages: Sequence[WebPage]) -> None:
        """Keep results; a crash leaves no half file, and two processes may share a folder.

        Raises:
            OSError: they cannot be written; nothing is left behind.
        """
        target = self._file(engine, query, k)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("wb", dir=target.parent, suffix=".part", delete=False) as part:
            try:
                record = {"at": time.time(), "query": query, "pages": [asdict(page) for page in pages]}
                part.write(json.dumps(record).encode("ascii"))
                part.close()
                os.replace(part.name, target)
            except OSError:
                Path(part.name).unlink(missing_ok=True)
                raise

    def _file(self, engine: WebEngine, query: str, k: int) -> Path:
        # repr: a data class with its settings; the key is none of them.
        text = json.dumps([_FORMAT, repr(engine), query, k])
        name = hashlib.sha256(text.encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json"
