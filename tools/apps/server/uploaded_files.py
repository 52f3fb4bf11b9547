"""Reading uploaded files, which are untrusted, into one stream of passages."""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.corpora import CorpusReading, SourceRecord, open_corpus
from hopgraph.tools.retrieval.corpora.text_files import describe_unread, readable_suffixes
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

SUFFIXES = readable_suffixes()
"""Of the files that can be read here."""
_MAX_NAME = 100
_BLOCK = 4096
"""Bytes that even an empty file takes."""
_REPORT_EVERY = 500


def name_files(files: Sequence[Path], max_bytes: int) -> tuple[dict[str, Path], list[str]]:
    """Check uploaded files before any is read.

    Returns:
        Unique name → place of those that can be read, in their order; and a line for each other one: it is no file, is
        empty, or of another kind.

    Raises:
        CorpusError: none can be read, or they have too many bytes.
    """
    found: dict[str, Path] = {}
    unread: list[str] = []
    total = 0
    for path in files:
        name = given = truncate_line(path.name, _MAX_NAME) or "document"
        number = 1
        while name in found:
            number += 1
            name = f"{given} ({number})"
        try:
            status = path.lstat()
        except OSError as error:
            unread.append(f"{name}: cannot be read: {error.strerror}")
            continue
        if problem := _reason_not_to_read(path, status):
            unread.append(f"{name}: {problem}")
            continue
        total += status.st_size
        found[name] = path
    if not found:
        raise CorpusError("; ".join(unread) or "no file was uploaded; choose one or more")
    if total > max_bytes:
        raise CorpusError(f"the files have {total:,} bytes together; upload at most {max_bytes:,} at once")
    return found, unread


def _reason_not_to_read(path: Path, status: os.stat_result) -> str:
    if not stat.S_ISREG(status.st_mode):  # a link could lead to any file of this machine
        return "this is no file"
    if not status.st_size:
        return "the file is empty"
    if path.suffix.lower() not in SUFFIXES:
        unread = describe_unread([path]) or "this kind of file cannot be read"
        return f"{unread}; upload files of {', '.join(SUFFIXES)}"
    return ""


def remove_old_files(folder: Path, seconds: float) -> None:
    """Remove a folder's files that were written longer ago; what another process removes meanwhile is skipped."""
    for place, folders, files in os.walk(folder, topdown=False):  # what is in a folder before the folder
        for name in files:
            path = Path(place, name)
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > seconds:
                    path.unlink()
        for name in folders:
            with suppress(OSError):
                Path(place, name).rmdir()  # refused where something is left


def folder_size(folder: Path) -> int:
    """Return the bytes of a folder's files, each as at least a block; 0 if it does not exist."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += max(Path(place, name).lstat().st_size, _BLOCK)
    return total


def write_corpus(
    files: dict[str, Path], out: Path, progress: Callable[[int, int], None]
) -> tuple[list[str], CorpusReading]:
    """Write the passages of all files, as `name_files` names them, as one corpus in BEIR's format, a few at a time.

    A passage's id begins with its file's name. `progress` is called now and then with
    the bytes that were read, and of how many.

    Returns:
        The names of the files that passages came from; and what was skipped, by their names: records that are no
        passage, have no text, or repeat an id, and files that cannot be read to their end or have no passage.

    Raises:
        CorpusError: there is no such file.
    """
    total, reading = sum(path.stat().st_size for path in files.values()), CorpusReading(skip_bad=True)
    used: list[str] = []
    with out.open("w", encoding="utf-8") as written:
        for name, path in files.items():
            earlier, start = len(reading.first_skipped), written.tell()
            try:
                for line in _passage_lines(name, path, reading, lambda: progress(reading.bytes_read, total)):
                    written.write(line)
                problem = "" if written.tell() > start else f"{name}: there is no text in it"
            except CorpusError as error:
                problem = str(error)
                written.seek(start)
                written.truncate()
            if problem:
                reading.skipped += 1
                reading.first_skipped.insert(earlier, problem)
            else:
                used.append(name)
            reading.first_skipped[earlier:] = [_by_name(each, path, name) for each in reading.first_skipped[earlier:]]
    if not used:
        raise CorpusError("; ".join(reading.first_skipped))
    progress(total, total)
    return used, reading


def _passage_lines(name: str, path: Path, reading: CorpusReading, progress: Callable[[], None]) -> Iterator[str]:
    seen = set[str]()
    for count, record in enumerate(open_corpus(path).records(reading)):
        if count % _REPORT_EVERY == 0:
            progress()
        if problem := _problem(record, seen):
            reading.reject(record.file, record.line, problem)
            continue
        seen.add(record.id)
        # The id of a passage of plain text begins with the file's name already.
        key = f"{name}#{record.id.removeprefix(f'{path.name}#')}"
        metadata = {"source": name, **record.metadata}
        if metadata["source"] == path.name:
            metadata["source"] = name
        fields = {"_id": key, "title": record.title, "text": record.text, "metadata": metadata}
        yield json.dumps(fields, ensure_ascii=False) + "\n"


def _problem(record: SourceRecord, seen: set[str]) -> str:
    if not record.id.strip() or not record.text.strip():
        return "the passage has no id or no text"
    if record.id in seen:
        return f"the id {record.id!r:.80} is there already"
    try:
        f"{record.id}{record.title}{record.text}".encode()
    except UnicodeEncodeError:
        return "the passage is not valid UTF-8"
    return ""


def _by_name(message: str, path: Path, name: str) -> str:
    """Replace a file's path, which is not shown to users, by its name."""
    return sanitize_line(message.replace(str(path), name))
