"""The files that an index was made from, recorded in the index, so that an update reads only those that changed.

It is what a record manager of `langchain_core.indexing` is to a vector store (keys are passages, groups are files), but
within the index, so that both change in one step, and by the content of files, so that a file need not be converted
to find out that it is the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from io import BufferedReader
from os.path import relpath
from pathlib import Path
from typing import cast

from pydantic import BaseModel, Field

from hopgraph.tools.io.guarded_files import open_inside, open_source
from hopgraph.tools.retrieval.corpora import Corpus
from hopgraph.tools.retrieval.corpora.cutting import Cutting
from hopgraph.tools.retrieval.index_manifest import Manifest, damaged, parse_facts

SOURCES = "sources.json"


class IndexedFile(BaseModel, frozen=True, extra="forbid"):
    """A file and its passages, which follow one another in the index."""

    name: str
    """Its path within the source; of a source that is one file its name."""
    hash: str
    """As `hash_files` makes it; empty for a file that the next update reads in any case."""
    passages: int = Field(ge=0)
    skipped: int = Field(default=0, ge=0)
    """Its bad records."""


class IndexedSource(BaseModel, frozen=True, extra="forbid"):
    """A file or folder that was indexed."""

    path: str
    """Where it was, seen from the index's parent folder; empty where that is unknown."""
    files: tuple[IndexedFile, ...]
    cutting: Cutting | None = None
    """How its documents are cut; None as by default."""


class IndexSources(BaseModel, frozen=True, extra="forbid"):
    """Everything that an index was made from, in the order of the passages."""

    sources: tuple[IndexedSource, ...]


@dataclass(frozen=True)
class FileChanges:
    """How the files of a source differ from those that were indexed, by name."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    vanished: tuple[str, ...]
    unchanged: int
    """How many are as they were."""

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.added or self.changed or self.vanished)


def hash_files(corpus: Corpus) -> dict[str, str]:
    """Return name → SHA-256 of how it is read and of its content, for every file of a source, in its order.

    That of a file that has just vanished is empty; reading it says so.
    """
    hashes: dict[str, str] = {}
    for path in corpus.files:
        try:
            with open_source(path) as file:
                begun = sha256(f"{corpus.recipe}\0".encode())
                hashes[corpus.name_of(path)] = file_digest(cast("BufferedReader", file), begun.copy).hexdigest()
        except OSError:
            hashes[corpus.name_of(path)] = ""
    return hashes


def compare_files(recorded: Iterable[tuple[str, str]], hashes: Mapping[str, str]) -> FileChanges:
    """Compare the names and hashes of indexed files with those of the files as they are now."""
    before = dict(recorded)
    return FileChanges(
        added=tuple(name for name in hashes if name not in before),
        changed=tuple(name for name, now in hashes.items() if name in before and before[name] != now),
        vanished=tuple(name for name in before if name not in hashes),
        unchanged=sum(before.get(name) == now for name, now in hashes.items()),
    )


def read_sources(goal: Path, manifest: Manifest) -> tuple[IndexedSource, ...]:
    """Read what an index was made from; of an index without a record, one file in an unknown place.

    Raises:
        CorpusError: the record is damaged.
    """
    corpus = manifest.corpus
    if SOURCES not in manifest.files:
        whole = IndexedFile(name=corpus.source, hash="", passages=corpus.passages, skipped=corpus.skipped)
        return (IndexedSource(path="", files=(whole,)),)
    try:
        with open_inside(goal, SOURCES) as file:
            sources = parse_facts(IndexSources, file.read(), str(goal / SOURCES)).sources
    except OSError as error:
        raise damaged(goal / SOURCES, error.strerror) from None
    if sum(file.passages for source in sources for file in source.files) != corpus.passages:
        raise damaged(goal / SOURCES, "it does not fit the passages")
    return sources


def write_sources(folder: Path, sources: Sequence[IndexedSource]) -> None:
    """Write the record into the folder of a new index."""
    content = IndexSources(sources=tuple(sources)).model_dump_json(exclude_none=True)
    (folder / SOURCES).write_text(content + "\n", encoding="utf-8")


def place_of(source: Path, goal: Path) -> str:
    """Return the place of a source as it is recorded in the index `goal`, so that both can be moved together."""
    try:
        return relpath(source.resolve(), goal.parent)
    except ValueError:  # on another drive of Windows
        return str(source.resolve())


def with_own_cutting(corpus: Corpus, goal: Path, sources: Sequence[IndexedSource]) -> Corpus:
    """Return a corpus cut as the index `goal` has it, from the same place, else of this name, else its first source."""
    here = corpus.path.resolve()
    places = [(goal.parent / source.path).resolve() for source in sources]
    nearest = min(range(len(sources)), key=lambda number: (places[number] != here, places[number].name != here.name))
    return replace(corpus, cutting=sources[nearest].cutting or Cutting())


def find_source(sources: Sequence[IndexedSource], corpus: Corpus, goal: Path, hashes: Mapping[str, str]) -> int | None:
    """Return which of the sources of the index `goal` a corpus is; None for another one.

    It is the one in the same place; else one of the same name that is gone from its place, if a file is unchanged.
    """
    here = corpus.path.resolve()
    places = [(goal.parent / source.path).resolve() for source in sources]
    for number, source in enumerate(sources):
        if source.path and places[number] == here:
            return number
    for number, source in enumerate(sources):
        moved = source.path and places[number].name == here.name and not places[number].exists()
        if moved and any(hashes.get(file.name) == file.hash for file in source.files):
            return number
    return None
