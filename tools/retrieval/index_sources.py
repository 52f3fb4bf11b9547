"""The files that an index was made from, recorded in the index, so that an update reads only those that changed.

It is what a record manager of `langchain_core.indexing` is to a vector store, but within the index, so that both change
in one step, and by the content of files, so that none need be converted to find out that it is the same. An update
plans from it where the passages come from: files to read, or rows to copy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from os.path import relpath
from pathlib import Path

from pydantic import BaseModel, Field

from hopgraph.state import CorpusError
from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.retrieval.corpora import Corpus, CorpusReading
from hopgraph.tools.retrieval.corpora.chunking import ChunkOptions
from hopgraph.tools.retrieval.corpora.source_records import Problem
from hopgraph.tools.retrieval.index_manifest import Manifest, damaged, read_facts

SOURCES = "sources.json"


class IndexedFile(BaseModel, frozen=True, extra="forbid"):
    """A file and its passages, which follow one another in the index."""

    name: str
    """Its path within the source; of a source that is one file its name."""
    hash: str
    """As `hash_files` makes it; empty for a file that the next update reads in any case."""
    passages: int = Field(ge=0)
    skipped: int = Field(default=0, ge=0)
    problems: tuple[Problem, ...] | None = None
    """The first few bad records; None for none."""


class IndexedSource(BaseModel, frozen=True, extra="forbid"):
    """A file or folder that was indexed."""

    path: str
    """Where it was, seen from the index's parent folder."""
    files: tuple[IndexedFile, ...]
    chunking: ChunkOptions | None = None
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

    def __bool__(self) -> bool:
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
                hashes[corpus.name_of(path)] = file_digest(file, begun.copy).hexdigest()
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
    """Read what an index was made from; CorpusError if the record is damaged."""
    try:
        sources = read_facts(IndexSources, goal, SOURCES).sources
    except OSError as error:
        raise damaged(goal / SOURCES, error.strerror) from None
    if sum(file.passages for source in sources for file in source.files) != manifest.corpus.passages:
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


def with_own_chunking(corpus: Corpus, goal: Path, sources: Sequence[IndexedSource]) -> Corpus:
    """Return a corpus cut as the index `goal` has it, from the same place, else of this name, else its first source."""
    here = corpus.path.resolve()
    places = [(goal.parent / source.path).resolve() for source in sources]
    nearest = min(range(len(sources)), key=lambda number: (places[number] != here, places[number].name != here.name))
    return replace(corpus, chunking=sources[nearest].chunking or ChunkOptions())


def find_source(sources: Sequence[IndexedSource], corpus: Corpus, goal: Path, hashes: Mapping[str, str]) -> int | None:
    """Return which of the sources of the index `goal` a corpus is; None for another one.

    It is the one in the same place; else one of the same name that is gone from its place, if a file is unchanged.
    """
    here = corpus.path.resolve()
    places = [(goal.parent / source.path).resolve() for source in sources]
    if here in places:
        return places.index(here)
    for number, source in enumerate(sources):
        moved = places[number].name == here.name and not places[number].exists()
        if moved and any(hashes.get(file.name) == file.hash for file in source.files):
            return number
    return None


@dataclass(frozen=True)
class FilePlan:
    """Where the passages of a file come from."""

    record: IndexedFile
    """Of a file that is copied; of one to be read its name and hash count."""
    path: Path | None = None
    """To be read; None for one that is copied."""
    rows: range = range(0)
    """Of the old index, to be copied."""


SourcePlan = tuple[IndexedSource, list[FilePlan]]
"""A source, and the files that it will have, in the order of their passages."""


def plan_reading(corpus: Corpus, goal: Path, hashes: Mapping[str, str]) -> SourcePlan:
    """Plan to read every file of a source."""
    records = (IndexedFile(name=name, hash=now, passages=0) for name, now in hashes.items())
    chunking = corpus.chunking if corpus.chunking != ChunkOptions() else None
    source = IndexedSource(path=place_of(corpus.path, goal), files=(), chunking=chunking)
    return source, [FilePlan(record, path) for record, path in zip(records, corpus.files, strict=True)]


def plan_copies(sources: Iterable[IndexedSource]) -> list[SourcePlan]:
    """Plan to copy all that an index was made from."""
    plans: list[SourcePlan] = []
    start = 0
    for source in sources:
        files: list[FilePlan] = []
        for file in source.files:
            files.append(FilePlan(file, rows=range(start, start + file.passages)))
            start += file.passages
        plans.append((source, files))
    return plans


def plan_update(
    corpus: Corpus, goal: Path, old: Manifest | None, *, add: bool, keep_deleted: bool
) -> tuple[list[SourcePlan], FileChanges]:
    """Plan to read what changed in a source of the index `goal`, copy the rest; CorpusError if new, unless `add`."""
    sources, hashes = read_sources(goal, old) if old else (), hash_files(corpus)
    plans, fresh = plan_copies(sources), plan_reading(corpus, goal, hashes)
    number = find_source(sources, corpus, goal, hashes)
    if number is None:
        if old and not add:
            made = f"{goal} was built from {old.corpus.source}, not from {corpus.path}"
            raise CorpusError(f"{made}; --add adds to it, --replace rebuilds it")
        return [*plans, fresh], compare_files((), hashes)
    copies = {each.record.name: each for each in plans[number][1]}
    changes = compare_files(((name, each.record.hash) for name, each in copies.items()), hashes)
    differ = {*changes.added, *changes.changed}
    files = [each if each.record.name in differ else copies[each.record.name] for each in fresh[1]]
    if keep_deleted:
        files += [copies[name] for name in changes.vanished]
        changes = replace(changes, vanished=())
    plans[number] = fresh[0], files
    return plans, changes


def recall_problems(reading: CorpusReading, corpus: Corpus, goal: Path, plans: Iterable[SourcePlan]) -> None:
    """Count the bad records of a source's files that an update of the index `goal` copies, as if they were read."""
    paths, place = {corpus.name_of(path): path for path in corpus.files}, place_of(corpus.path, goal)
    copied = (each.record for source, files in plans if source.path == place for each in files if each.path is None)
    for record in copied:
        if record.skipped and record.name in paths:
            problems = record.problems or ()
            for line, reason in problems:
                reading.skip(paths[record.name], line, reason)
            reading.skipped += record.skipped - len(problems)
