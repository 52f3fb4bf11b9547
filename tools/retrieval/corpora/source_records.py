"""Records and progress of corpus readers, and streaming readers of lines and JSON values."""

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

_MAX_SHOWN, _MAX_FILES_SHOWN = 5, 50
_MAX_REASON = 500
_CHUNK = 1 << 20
_MAX_LITERAL = 16
"""Upper bound for the characters of a JSON literal (the longest is `-Infinity`)."""
_WRAPPED = re.compile(rb'\{(\s*"(?:[Dd]ata|examples|questions)"\s*:\s*\[|[ \t]*\r?\n)')
"""Start of an object that wraps the list of records, on one line or several."""
_LISTS = ("Data", "data", "examples", "questions")  # keys of wrapped lists, e.g. in TriviaQA and BIG-bench
_WHITE_SPACE = re.compile(r"[ \t\n\r]*")

Problem = tuple[int | None, str]
"""Line of an invalid record (None for a whole file), and what is wrong."""


class SourceRecord(NamedTuple):
    """A passage read from a source."""

    id: str
    title: str
    """May be empty."""
    text: str
    file: Path
    line: int
    """First line of the record, from 1."""
    metadata: Metadata = MappingProxyType({})
    """From `plain_metadata`."""


@dataclass
class CorpusReading:
    """Progress and invalid records of one pass over a source."""

    skip_invalid: bool = False
    bytes_read: int = 0
    skipped: int = 0
    first_skipped: list[str] = field(default_factory=list[str])
    """Messages for the first few invalid records."""
    skipped_in: Counter[Path] = field(default_factory=Counter[Path])
    problems_in: defaultdict[Path, list[Problem]] = field(
        default_factory=lambda: defaultdict[Path, list[Problem]](list)
    )
    """The first few invalid records of each file."""
    notes: list[str] = field(default_factory=list[str])
    """Notes for the user about files that were read."""

    def reject(self, file: Path, line: int, reason: str) -> None:
        """Raise BadRecordError with file, line and reason; with `skip_invalid`, only count the record."""
        if not self.skip_invalid:
            raise BadRecordError(f"{file}:{line}: {reason} (fix it, or skip invalid records with --skip-invalid)")
        self.skip(file, line, reason)

    def skip(self, file: Path, line: int | None, reason: str) -> None:
        """Count an invalid record, or an unreadable file if `line` is None; of files, more are listed."""
        self.skipped += 1
        self.skipped_in[file] += 1
        if len(self.problems_in[file]) < _MAX_SHOWN:
            self.problems_in[file].append((line, reason[:_MAX_REASON].encode(errors="replace").decode()))
        if len(self.first_skipped) < (_MAX_SHOWN if line else _MAX_FILES_SHOWN):
            self.first_skipped.append(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")


class MalformedError(ValueError):
    """Valid JSON that is not a record; readers report it with file and line."""


def read_lines(path: Path, reading: CorpusReading) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file, from 1, without a byte order mark; reject lines that are not UTF-8."""
    with open_binary(path) as file:
        for number, line in enumerate(file, 1):
            reading.bytes_read += len(line)
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                reading.reject(path, number, f"byte {error.start + 1} of the line is not UTF-8")


def read_json_values(path: Path, reading: CorpusReading) -> Iterator[tuple[int, JsonValue]]:
    """Stream the values of a JSON list (perhaps under a key of `_LISTS`) or of JSON Lines, with their lines, from 1.

    Raises OSError, and BadRecordError for a line that is not UTF-8 or not JSON, unless invalid records are skipped.
    A broken list always raises BadRecordError, since the start of its next value is unknown.
    """
    start = read_first_bytes(path, 64)
    wrapped = _WRAPPED.match(start) is not None
    if wrapped or start[:1] == b"[":
        return _list_values(path, reading, wrapped)
    return _line_values(path, reading)


def read_first_bytes(path: Path, count: int) -> bytes:
    """Return up to `count` first bytes of a file, after a byte order mark and white space."""
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
        except (ValueError, RecursionError) as error:  # a huge number or deep nesting
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
    """Reads a long JSON text in chunks while its values are consumed."""

    def __init__(self, file: BinaryIO, path: Path, reading: CorpusReading) -> None:
        self._file, self._path, self._reading = file, path, reading
        # Bytes that are not UTF-8 become lone surrogates, so that only the record with them is invalid.
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
            if not self._read_more():
                return ""

    def expect(self, *marks: str) -> str:
        """Consume and return the next character, which must be one of `marks`."""
        mark = self.peek()
        if mark not in marks:
            found = repr(mark) if mark else "the end of the file"
            raise self.error(f"expected {' or '.join(map(repr, marks))}, found {found}")
        self._position += 1
        return mark

    def skip_to_list(self) -> None:
        """Consume the start of an object, up to the list of records."""
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
        """Consume the next value and return it with its line."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _MAX_LITERAL
                if is_cut and self._read_more():
                    continue
                raise self.error(error.msg, error.pos) from None
            except (ValueError, RecursionError) as error:  # a huge number or deep nesting
                raise self.error(str(error)) from None
            if end == len(self._text) and self._read_more():
                continue  # a number may be cut
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

    def _read_more(self) -> bool:
        """Drop the consumed text and at least double the rest; False at the end of the file."""
        more = self._file.read(max(_CHUNK, len(self._text) - self._position))
        self._reading.bytes_read += len(more)
        self._lines_before += self._text.count("\n", 0, self._position)
        self._text = self._text[self._position :] + self._decode(more, final=not more)
        self._position = 0
        return bool(more)
