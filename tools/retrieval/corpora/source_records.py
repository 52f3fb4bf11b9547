"""What every reader of a corpus yields, and how it reports what it cannot read."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from hopgraph.state import BadRecordError
from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.retrieval.passage_metadata import Metadata

_SHOWN, _FILES_SHOWN = 5, 50
_LONGEST_REASON = 500


Problem = tuple[int | None, str]
"""The line of a bad record, None for a whole file, and what is wrong with it."""


class SourceRecord(NamedTuple):
    """A passage as a source has it."""

    id: str
    title: str
    """May be empty."""
    text: str
    file: Path
    line: int
    """Where the record begins in the file, from 1."""
    metadata: Metadata = MappingProxyType({})
    """As `plain_metadata` returns it."""


@dataclass
class CorpusReading:
    """The state of one pass over a source: its progress and the bad records so far."""

    skip_bad: bool = False
    bytes_read: int = 0
    skipped: int = 0
    first_skipped: list[str] = field(default_factory=list[str])
    """The messages of the first few bad records."""
    skipped_in: Counter[Path] = field(default_factory=Counter[Path])
    """Bad records of each file."""
    problems_in: defaultdict[Path, list[Problem]] = field(
        default_factory=lambda: defaultdict[Path, list[Problem]](list)
    )
    """The first few of them."""
    notes: list[str] = field(default_factory=list[str])
    """What the user should know of files that were read."""

    def reject(self, file: Path, line: int, reason: str) -> None:
        """Raise BadRecordError, naming file, line and reason; with `skip_bad` the record is counted instead."""
        if not self.skip_bad:
            raise BadRecordError(f"{file}:{line}: {reason} (fix it, or skip bad records with --skip-bad)")
        self.skip(file, line, reason)

    def skip(self, file: Path, line: int | None, reason: str) -> None:
        """Count a bad record; without a line, a whole file, of which more are named."""
        self.skipped += 1
        self.skipped_in[file] += 1
        if len(self.problems_in[file]) < _SHOWN:
            self.problems_in[file].append((line, reason[:_LONGEST_REASON].encode(errors="replace").decode()))
        if len(self.first_skipped) < (_SHOWN if line else _FILES_SHOWN):
            self.first_skipped.append(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")


class MalformedError(ValueError):
    """A value that is valid JSON but no record; readers turn it into a bad record with its place."""


def read_lines(path: Path, reading: CorpusReading) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, from 1, without a byte order mark; reject what is not UTF-8."""
    with open_source(path) as file:
        for number, line in enumerate(file, 1):
            reading.bytes_read += len(line)
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                reading.reject(path, number, f"byte {error.start + 1} of the line is not UTF-8")
