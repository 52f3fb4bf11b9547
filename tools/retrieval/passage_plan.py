"""Where the passages of an index come from: files to read, and files whose passages the old index has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import Corpus
from hopgraph.tools.retrieval.corpora.cutting import Cutting
from hopgraph.tools.retrieval.index_manifest import Manifest
from hopgraph.tools.retrieval.index_sources import (
    FileChanges,
    IndexedFile,
    IndexedSource,
    compare_files,
    find_source,
    hash_files,
    place_of,
    read_sources,
)


@dataclass(frozen=True)
class FilePlan:
    """Where the passages of a file come from."""

    record: IndexedFile
    """Of a file that is copied; of one to be read its name and hash count."""
    path: Path | None = None
    """To be read; None for one that is copied."""
    rows: range = range(0)
    """Of the old index, to be copied."""


@dataclass(frozen=True)
class SourcePlan:
    """The files of a source, in the order of their passages."""

    path: str
    """As `place_of` returns it."""
    files: Sequence[FilePlan]
    cutting: Cutting | None = None
    """As `IndexedSource` has it."""


def plan_reading(corpus: Corpus, goal: Path, hashes: Mapping[str, str]) -> SourcePlan:
    """Plan to read every file of a source."""
    records = [IndexedFile(name=name, hash=now, passages=0) for name, now in hashes.items()]
    files = [FilePlan(record, path) for record, path in zip(records, corpus.files, strict=True)]
    return SourcePlan(place_of(corpus.path, goal), files, corpus.cutting if corpus.cutting != Cutting() else None)


def plan_copies(sources: Iterable[IndexedSource]) -> list[SourcePlan]:
    """Plan to copy all that an index was made from."""
    plans: list[SourcePlan] = []
    start = 0
    for source in sources:
        files: list[FilePlan] = []
        for file in source.files:
            files.append(FilePlan(file, rows=range(start, start + file.passages)))
            start += file.passages
        plans.append(SourcePlan(source.path, files, source.cutting))
    return plans


def plan_update(
    corpus: Corpus, goal: Path, old: Manifest, *, add: bool, keep_missing: bool
) -> tuple[list[SourcePlan], FileChanges]:
    """Plan to read what has changed in a source of the index `goal`, and to copy the rest.

    Raises:
        CorpusError: the source is none of the index's, and is not to be added.
    """
    sources, hashes = read_sources(goal, old), hash_files(corpus)
    plans, fresh = plan_copies(sources), plan_reading(corpus, goal, hashes)
    number = find_source(sources, corpus, goal, hashes)
    if number is None:
        if not add:
            made = f"{goal} has no record that it was made from {corpus.path} (but from {old.corpus.source})"
            raise CorpusError(f"{made}; --add adds to it, --replace builds it anew")
        return [*plans, fresh], compare_files((), hashes)
    copies = {each.record.name: each for each in plans[number].files}
    changes = compare_files(((name, each.record.hash) for name, each in copies.items()), hashes)
    differ = {*changes.added, *changes.changed}
    files = [each if each.record.name in differ else copies[each.record.name] for each in fresh.files]
    if keep_missing:
        files += [copies[name] for name in changes.vanished]
        changes = replace(changes, vanished=())
    plans[number] = replace(fresh, files=files)
    return plans, changes
