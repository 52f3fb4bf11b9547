"""Records that every corpus reader yields, reports of unreadable ones, and the lines and JSON values of a file."""

import codecs
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from pydantic import JsonValue

from hopgraph.state import BadRecordError
from hopgraph.tools.documents.encodings import open_binary
from hopgraph.tools.retrieval.passage_metadata import Metadata

_SHOWN, _FILES_SHOWN = 5, 50
_LONGEST_REASON = 500
_CHUNK = 1 << 20
_LONGEST_TOKEN = 16
"""Characters, some to spare, of the longest JSON token but strings and numbers, `-Infinity`."""
_WRAPPED = re.compile(rb'\{(\s*"(?:[Dd]ata|examples|questions)"\s*:\s*\[|[ \t]*\r?\n)')
"""How an object begins whose only content of interest is a list: at once, or over several lines."""
_LISTS = ("Data", "data", "examples", "questions")  # the keys of such lists, as in TriviaQA and BIG-bench
_WHITE_SPACE = re.compile(r"[ \t\n\r]*")

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

    skip_invalid: bool = False
    bytes_read: int = 0
    skipped: int = 0
    first_skipped: list[str] = field(default_factory=list[str])
    """The messages of the first few bad records."""
    skipped_in: Counter[Path] = field(default_factory=Counter[Path])
    problems_in: defaultdict[Path, list[Problem]] = field(
        default_factory=lambda: defaultdict[Path, list[Problem]](list)
    )
    """The first few bad records of each file."""
    notes: list[str] = field(default_factory=list[str])
    """Notes for the user on files that were read."""

    def reject(self, file: Path, line: int, reason: str) -> None:
        """Raise BadRecordError, naming file, line and reason; with `skip_invalid` the record is counted instead."""
        if not self.skip_invalid:
            raise BadRecordError(f"{file}:{line}: {reason} (fix it, or skip invalid records with --skip-invalid)")
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
    with open_binary(path) as file:
        for number, line in enumerate(file, 1):
            reading.bytes_read += len(line)
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                reading.reject(path, number, f"byte {error.start + 1} of the line is not UTF-8")


def read_json_values(path: Path, reading: CorpusReading) -> Iterator[tuple[int, JsonValue]]:
    """Yield each value of a JSON list, also of one below a key of `_LISTS`, or of JSON lines, with its line, from 1.

    Only a few values are in memory. BadRecordError for a line that is not UTF-8 or not JSON, unless bad records are
    skipped; for a list that is broken, always, as it is unknown where its next value begins. OSError as for any file.
    """
    start = read_first_bytes(path, 64)
    wrapped = _WRAPPED.match(start) is not None
    if wrapped or start[:1] == b"[":
        return _list_values(path, reading, wrapped)
    return _line_values(path, reading)


def read_first_bytes(path: Path, count: int) -> bytes:
    """Return the first bytes of a file after a byte order mark and white space; fewer where it is shorter."""
    with open_binary(path) as file:
        start = file.read(_CHUNK).removeprefix(codecs.BOM_UTF8).lstrip()
        while not start and (more := file.read(_CHUNK)):
            start = more.lstrip()
    return start[:count]


def _line_values(path: Path, reading: CorpusReading) -> Iterator[tuple[int, JsonValue]]:
    for number, line in read_lines(path, reading):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            reading.reject(path, number, f"not valid JSON: {error.msg} at character {error.pos + 1}")
        except (ValueError, RecursionError) as error:  # a huge number, a deep nesting
            reading.reject(path, number, f"not usable JSON: {error}")
        else:
            yield number, value


def _list_values(path: Path, reading: CorpusReading, wrapped: bool) -> Iterator[tuple[int, JsonValue]]:
    with open_binary(path) as file:
        scanner = _Scanner(file, path, reading)
        if wrapped:
            scanner.skip_to_list()
        scanner.expect("[")
        mark = scanner.expect("]") if scanner.peek() == "]" else ","
        while mark == ",":
            yield scanner.value()
            mark = scanner.expect(",", "]")
        if (mark := scanner.peek()) and not wrapped:
            raise scanner.error(f"{mark!r} after the end of the list")


class _Scanner:
    """A window on a long JSON text that moves on as values are taken from it."""

    def __init__(self, file: BinaryIO, path: Path, reading: CorpusReading) -> None:
        self._file, self._path, self._reading = file, path, reading
        # Bytes that are not UTF-8 become lone surrogates, so that only the record that has them is bad.
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._json = json.JSONDecoder()
        self._text, self._position, self._lines_before = "", 0, 0

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end of the file."""
        while True:
            space = _WHITE_SPACE.match(self._text, self._position)
            self._position = space.end() if space else self._position
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_on():
                return ""

    def expect(self, *marks: str) -> str:
        """Consume the next character, which must be one of these."""
        mark = self.peek()
        if mark not in marks:
            found = repr(mark) if mark else "the end of the file"
            raise self.error(f"expected {' or '.join(map(repr, marks))}, found {found}")
        self._position += 1
        return mark

    def skip_to_list(self) -> None:
        """Consume an object up to the list of its records."""
        self.expect("{")
        key = self.value()[1] if self.peek() == '"' else None
        while key not in _LISTS:
            self.expect(":")
            self.value()
            if self.expect(",", "}") == "}":
                raise self.error(f"an object without a list under {' or '.join(_LISTS)}")
            key = self.value()[1]
        self.expect(":")

    def value(self) -> tuple[int, JsonValue]:
        """Consume the next value; return it with its line."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _LONGEST_TOKEN
                if cut and self._read_on():
                    continue
                raise self.error(error.msg, error.pos) from None
            except (ValueError, RecursionError) as error:  # a huge number, a deep nesting
                raise self.error(str(error)) from None
            if end == len(self._text) and self._read_on():
                continue  # a number may go on
            line = self._line(self._position)
            self._position = end
            return line, value

    def error(self, reason: str, position: int | None = None) -> BadRecordError:
        line = self._line(self._position if position is None else position)
        return BadRecordError(
            f"{self._path}:{line}: not valid JSON: {reason}; fix the file: what follows in a list cannot be read"
        )

    def _line(self, position: int) -> int:
        return self._lines_before + self._text.count("\n", 0, position) + 1

    def _read_on(self) -> bool:
        """Drop what was consumed and read more, as much as there is at least; False at the end of the file."""
        more = self._file.read(max(_CHUNK, len(self._text) - self._position))
        self._reading.bytes_read += len(more)
        self._lines_before += self._text.count("\n", 0, self._position)
        self._text = self._text[self._position :] + self._decode(more, final=not more)
        self._position = 0
        return bool(more)
