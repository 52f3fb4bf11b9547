"""The files that an index was built from, recorded in it so that an update reads only those that changed.

This is like a record manager of `langchain_core.indexing`, but within the index, so that both change in one step, and
by file content, so that unchanged files need not be converted. An update plans from it what to read and what to copy.
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
from hopgraph.tools.retrieval.index_manifest import Manifest, damaged, read_info

SOURCES = "sources.json"


class IndexedFile(BaseModel, frozen=True, extra="forbid"):
    """A file and its passages, which are consecutive in the index."""

    name: str
    """Path within the source; for a source that is one file, its name."""
    hash: str
    """From `hash_files`; empty for a file that the next update must read."""
    passages: int = Field(ge=0)
    skipped: int = Field(default=0, ge=0)
    problems: tuple[Problem, ...] | None = None
    """The first few invalid records, if there are any."""


class IndexedSource(BaseModel, frozen=True, extra="forbid"):
    """A file or folder that was indexed."""

    path: str
    """Relative to the index's parent folder."""
    files: tuple[IndexedFile, ...]
    chunking: ChunkOptions | None = None
    """None for the default."""


class IndexSources(BaseModel, frozen=True, extra="forbid"):
    """Everything that an index was built from, in the order of its passages."""

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
    """Return name → SHA-256 of the reading options and the content of every file of a source, in order.

    The hash of a file that has just vanished is empty; reading it reports that.
    """
    hashes: dict[str, str] = {}
    for path in corpus.files:
        try:
            with open_source(path) as file:
                prefix = sha256(f"{corpus.recipe}\0".encode())
                hashes[corpus.name_of(path)] = file_digest(file, prefix.copy).hexdigest()
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


def read_sources(target: Path, manifest: Manifest) -> tuple[IndexedSource, ...]:
    """Read the sources of an index; CorpusError if the record is damaged."""
    try:
        sources = read_info(IndexSources, target, SOURCES).sources
    except OSError as error:
        raise damaged(target / SOURCES, error.strerror) from None
    if sum(file.passages for source in sources for file in source.files) != manifest.corpus.passages:
        raise damaged(target / SOURCES, "it does not match the passages")
    return sources


def write_sources(folder: Path, sources: Sequence[IndexedSource]) -> None:
    """Write the record into the folder of a new index."""
    content = IndexSources(sources=tuple(sources)).model_dump_json(exclude_none=True)
    (folder / SOURCES).write_text(content + "\n", encoding="utf-8")


def recorded_path(source: Path, target: Path) -> str:
    """Return a source's path as recorded in the index `target`: relative, so that both can be moved together."""
    try:
        return relpath(source.resolve(), target.parent)
    except ValueError:  # on another Windows drive
        return str(source.resolve())


def with_recorded_chunking(corpus: Corpus, target: Path, sources: Sequence[IndexedSource]) -> Corpus:
    """Return the corpus chunked as the index's source with its path, else its name, else the first source."""
    here = corpus.path.resolve()
    places = [(target.parent / source.path).resolve() for source in sources]
    nearest = min(range(len(sources)), key=lambda number: (places[number] != here, places[number].name != here.name))
    return replace(corpus, chunking=sources[nearest].chunking or ChunkOptions())


def find_source(
    sources: Sequence[IndexedSource], corpus: Corpus, target: Path, hashes: Mapping[str, str]
) -> int | None:
    """Return which of the index's sources a corpus is, by number; None if it is new.

    It is the one with the same path; else one with the same name whose path is gone, if a file is unchanged.
    """
    here = corpus.path.resolve()
    places = [(target.parent / source.path).resolve() for source in sources]
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
    """For a file to copy; for a file to read, only its name and hash count."""
    path: Path | None = None
    """The file to read; None to copy it."""
    rows: range = range(0)
    """Rows of the old index to copy."""


SourcePlan = tuple[IndexedSource, list[FilePlan]]
"""A source, and its files in the order of their passages."""


def plan_reading(corpus: Corpus, target: Path, hashes: Mapping[str, str]) -> SourcePlan:
    """Plan to read every file of a source."""
    records = (IndexedFile(name=name, hash=now, passages=0) for name, now in hashes.items())
    chunking = corpus.chunking if corpus.chunking != ChunkOptions() else None
    source = IndexedSource(path=recorded_path(corpus.path, target), files=(), chunking=chunking)
    return source, [FilePlan(record, path) for record, path in zip(records, corpus.files, strict=True)]


def plan_copies(sources: Iterable[IndexedSource]) -> list[SourcePlan]:
    """Plan to copy everything in an index."""
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
    corpus: Corpus, target: Path, old: Manifest | None, *, add: bool, keep_deleted: bool
) -> tuple[list[SourcePlan], FileChanges]:
    """Plan to read a source's changed files and copy the rest; CorpusError for a new source, unless `add`."""
    sources, hashes = read_sources(target, old) if old else (), hash_files(corpus)
    plans, fresh = plan_copies(sources), plan_reading(corpus, target, hashes)
    number = find_source(sources, corpus, target, hashes)
    if number is None:
        if old and not add:
            made = f"{target} was built from {old.corpus.source}, not from {corpus.path}"
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


def count_copied_problems(reading: CorpusReading, corpus: Corpus, target: Path, plans: Iterable[SourcePlan]) -> None:
    """Count the invalid records of files that an update of the index copies, as if they were read."""
    paths, place = {corpus.name_of(path): path for path in corpus.files}, recorded_path(corpus.path, target)
    copied = (each.record for source, files in plans if source.path == place for each in files if each.path is None)
    for record in copied:
        if record.skipped and record.name in paths:
            problems = record.problems or ()
            for line, reason in problems:
                reading.skip(paths[record.name], line, reason)
            reading.skipped += record.skipped - len(problems)
