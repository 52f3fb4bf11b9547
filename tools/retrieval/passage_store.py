"""The passages of an index: JSON lines on disk with random access."""

import json
import mmap
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, NotRequired

import numpy as np
from pydantic import JsonValue, TypeAdapter
from typing_extensions import TypedDict

from hopgraph.tools.retrieval.index_manifest import DAMAGE, damaged, map_array
from hopgraph.tools.retrieval.passage_metadata import Metadata

PASSAGES, OFFSETS = "passages.jsonl", "passages.offsets.npy"
_CACHE_SIZE = 4096
_encode = json.JSONEncoder(ensure_ascii=False).encode


class _Line(TypedDict):
    _id: str
    title: str
    text: str
    metadata: NotRequired[dict[str, JsonValue]]


_LINE = TypeAdapter(_Line)


class StoredPassage(NamedTuple):
    """A passage of a corpus."""

    id: str
    title: str
    text: str
    metadata: Metadata = MappingProxyType({})
    """From `plain_metadata`; not searched."""


def encode_passage(passage: StoredPassage) -> bytes:
    """Return a passage as stored and fingerprinted; UnicodeEncodeError if it has lone surrogates."""
    record: dict[str, object] = {"_id": passage.id, "title": passage.title, "text": passage.text}
    if passage.metadata:
        record["metadata"] = dict(passage.metadata)
    return _encode(record).encode() + b"\n"


def reason_not_to_store(passage: StoredPassage) -> str:
    """Return why a record cannot become a passage; empty if it can."""
    if not passage.text.strip() or not passage.id.strip():
        return f"the passage {passage.id!r:.80} has no text or no id"
    try:
        encode_passage(passage)
    except UnicodeEncodeError:
        return f"the passage {passage.id!r:.80} is not valid UTF-8"
    return ""


def write_passages(folder: Path, passages: Iterable[StoredPassage]) -> str:
    """Write passages one by one, with eight bytes of memory for each; return their SHA-256 as hex digits."""
    offsets, digest = array("q", [0]), sha256()
    with (folder / PASSAGES).open("wb") as file:
        for passage in passages:
            line = encode_passage(passage)
            file.write(line)
            digest.update(line)
            offsets.append(offsets[-1] + len(line))
    np.save(folder / OFFSETS, np.frombuffer(offsets, dtype=np.int64), allow_pickle=False)
    return digest.hexdigest()


class PassageFile:
    """Passages on disk, mapped into memory and read on demand."""

    def __init__(self, folder: Path) -> None:
        """Open what `write_passages` wrote; CorpusError if a file is missing or damaged."""
        self._path = folder / PASSAGES
        self._offsets = map_array(folder / OFFSETS)
        try:
            with self._path.open("rb") as file:
                self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except DAMAGE as error:
            raise damaged(self._path, error) from None
        # The sub-questions of a run find the same passages again and again.
        self._cached_read = lru_cache(maxsize=_CACHE_SIZE)(self._read)
        if len(self._offsets) < 2 or self._offsets[-1] != len(self._lines):
            raise damaged(self._path, f"{OFFSETS} does not match it")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int, /) -> StoredPassage:
        return self._cached_read(row)

    def __iter__(self) -> Iterator[StoredPassage]:
        """Read all passages from disk, line by line, without mapping them into memory."""
        with self._path.open("rb") as file:
            for row, line in enumerate(file):
                yield self._parse(row, line)

    def _read(self, row: int) -> StoredPassage:
        if not 0 <= row < len(self):
            raise IndexError(row)
        start, end = self._offsets[row : row + 2].tolist()
        return self._parse(row, self._lines[start:end])

    def _parse(self, row: int, content: bytes) -> StoredPassage:
        try:
            line = _LINE.validate_json(content)
            return StoredPassage(line["_id"], line["title"], line["text"], line.get("metadata", {}))
        except DAMAGE:
            raise damaged(self._path, f"line {row + 1}") from None


PassageStore = PassageFile | Sequence[StoredPassage]
"""Passages by row, from 0, in the order of the corpus."""
