"""Index uploaded files in a separate process, so that no file can block or exhaust the server.

`index_in_process` runs this module as a program, which limits its own time and memory.
"""

import asyncio
import os
import shutil
import sys
import uuid
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable, Collection, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from hopgraph.state import CorpusError, HopgraphError
from hopgraph.tools.io.process_limits import limit_process
from hopgraph.tools.retrieval import delete_passages, open_index, update_index
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.retrieval.passage_store import StoredPassage, encode_passage, reason_not_to_store
from hopgraph.tools.retrieval.staging import STAGES, stage_folder
from hopgraph.tools.text.sanitize import sanitize_line

MAX_SECONDS = 900
"""Limit for one upload: 100 MB of plain text take about a third of it on one core."""
MAX_MEMORY = 4 << 30  # bytes of address space
RECORD, INDEX, FILES = "corpus.json", "index", "files"
"""The contents of a corpus folder; each file is named by its `document_id`."""
_REPORT_EVERY = 500  # passages
_STAGES = {**STAGES, "read": "indexing"}  # the files have been read already


class UserCorpus(TypedDict):
    """A corpus that a user made of uploaded files."""

    id: str  # unique among the user's
    name: str  # untrusted text, on one line; never empty
    files: list[str]  # their names; untrusted text, on one line each
    passages: int
    skipped: int  # files, and records in other files, that could not be used
    first_skipped: list[str]
    """Errors of the files and of the first few records, with file and line."""
    created: float  # seconds since the epoch


@dataclass(frozen=True)
class IndexingStage:
    """The progress of an upload."""

    name: str
    """`waiting`, `reading`, `indexing`, `scoring`, `saving` or `linking`."""
    done: int = 0
    total: int | None = None  # None where it is unknown
    file: str = ""  # the file being read
    passages: int | None = None  # of the file, once it has been read
    problem: str = ""  # why the file is not used


class UploadJob(TypedDict):
    """The input of the indexing process."""

    folder: Path  # of the corpus; for a new one it does not exist yet
    before: UserCorpus  # without files if it is new
    files: dict[str, Path]
    """As returned by `name_files`; they replace files of the same name."""
    unread: list[str]  # its problems with other files
    removed: list[str]
    language: str | None  # of a new corpus
    max_seconds: int
    max_memory: int


USER_CORPUS = TypeAdapter(UserCorpus)
_JOB = TypeAdapter(UploadJob)
_Line = IndexingStage | UserCorpus | str  # a string is the reason why there is no corpus
_LINE: TypeAdapter[_Line] = TypeAdapter(_Line)


async def index_in_process(job: UploadJob) -> AsyncGenerator[IndexingStage | UserCorpus]:
    """Yield the stages of an upload, then the corpus; closing the generator kills the process.

    A CorpusError if no file can be used, the disk is full, or a limit on time or memory was reached.
    """
    message: _Line | None = None
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__),
        stdin=PIPE,
        stdout=PIPE,
        limit=1 << 24,  # bytes per line; it lists the files
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # Ctrl-C goes to the server, which then stops this process
    )
    to_process, from_process = cast("StreamWriter", process.stdin), cast("StreamReader", process.stdout)
    try:
        to_process.write(_JOB.dump_json(job))
        to_process.close()
        async for line in from_process:
            message = _LINE.validate_json(line)
            if isinstance(message, IndexingStage):
                yield message
    finally:
        if not from_process.at_eof():  # else it exits by itself, and asyncio would lose track of it if killed
            with suppress(ProcessLookupError):
                process.kill()
        await process.communicate()
    if isinstance(message, dict):
        yield message
    elif isinstance(message, str):
        raise CorpusError(message)
    elif (process.returncode or 0) < 0:  # killed by the limits, or by a system short of memory
        raise CorpusError(_too_much(job))
    else:
        raise CorpusError("the documents cannot be indexed; see the server's log")


def _too_much(job: UploadJob) -> str:
    limits = f"{job['max_seconds']:,} seconds or {job['max_memory'] / (1 << 30):.1f} GiB of memory"
    return f"indexing took more than {limits}; upload less at once"


def document_id(name: str) -> str:
    """Return the id by which a browser refers to a document."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def build_corpus(job: UploadJob, report: Callable[[IndexingStage], None]) -> UserCorpus:
    """Index the files of a job in this process, then replace the corpus folder atomically.

    A CorpusError if no file can be used, an OSError if they cannot be stored; nothing changes then.
    """
    before, files = job["before"], job["files"]
    with stage_folder(job["folder"]) as folder:
        if before["files"]:
            shutil.copytree(job["folder"] / INDEX, folder / INDEX, copy_function=_link)
        corpus = _index_files(job, folder, report)
        (folder / FILES).mkdir()
        for name in corpus["files"]:
            kept = job["folder"] / FILES / document_id(name)
            if name in files:
                shutil.copyfile(files[name], folder / FILES / kept.name)
            elif kept.is_file():
                _link(kept, folder / FILES / kept.name)
        (folder / RECORD).write_bytes(USER_CORPUS.dump_json(corpus))
    return corpus


def _link(source: str | Path, target: str | Path) -> None:
    """Hard-link a file that is never written again, or copy it."""
    try:
        os.link(source, target)
    except OSError:  # this file system has no hard links
        shutil.copyfile(source, target)


def _index_files(job: UploadJob, folder: Path, report: Callable[[IndexingStage], None]) -> UserCorpus:
    """Update the index in a folder with a job; return the corpus's record."""
    before, index, used, read = job["before"], folder / INDEX, list[str](), CorpusReading(skip_invalid=True)
    passages = folder / f"{uuid.uuid4().hex}-passages.jsonl"

    def progress(stage: str, done: int, total: int | None) -> None:
        report(IndexingStage(_STAGES[stage], done, total))

    try:
        if job["files"]:
            used = _write_corpus(job["files"], passages, read, report)
        gone = {*job["removed"], *used}
        old = _passages_of(index, before["files"], gone) if before["files"] else []
        if used:
            how: dict[str, Any] = {"add": True, "delete": old} if before["files"] else {"language": job["language"]}
            count = update_index(passages, index, format="beir", progress=progress, **how).passages
        else:
            delete_passages(index, old, progress=progress)
            count = len(open_index(index))
    except CorpusError as error:
        said = str(error).replace(str(passages), before["name"]).replace(str(index), before["name"])
        raise CorpusError(sanitize_line(said)) from None
    passages.unlink(missing_ok=True)
    return {
        **before,
        "files": [*(name for name in before["files"] if name not in gone), *used],
        "passages": count,
        "skipped": len(job["unread"]) + read.skipped,
        "first_skipped": [*job["unread"], *read.first_skipped],
    }


def nothing_read(files: Collection[str], problems: Sequence[str]) -> CorpusError:
    """Return the error if no file can be used; for several files each problem has been reported already."""
    return CorpusError("; ".join(problems) if len(files) == 1 else "none of the files can be read")


def _write_corpus(
    files: dict[str, Path], out: Path, reading: CorpusReading, report: Callable[[IndexingStage], None]
) -> list[str]:
    """Write the passages of all files as one corpus in BEIR's format; return the files that have any.

    Whatever cannot be used is counted and listed; a CorpusError if no file has a passage.
    """
    total, used = sum(path.stat().st_size for path in files.values()), list[str]()
    with out.open("wb") as written:
        for name, path in files.items():
            earlier, start, count, problem = len(reading.first_skipped), written.tell(), 0, ""
            try:
                for count, line in enumerate(_passage_lines(name, path, reading), start=1):
                    if count % _REPORT_EVERY == 1:
                        report(IndexingStage("reading", min(reading.bytes_read, total), total, name))
                    written.write(line)
                if written.tell() == start:
                    problem = f"{name}: it contains no text"
            except CorpusError as error:
                problem = str(error)
                written.seek(start)
                written.truncate()
            problem = sanitize_line(problem.replace(str(path), name))  # its path is not shown to users
            done = min(reading.bytes_read, total)
            report(IndexingStage("reading", done, total, name, 0 if problem else count, problem))
            if problem:
                reading.skipped += 1
                reading.first_skipped.insert(earlier, problem)
            else:
                used.append(name)
            told = reading.first_skipped[earlier:]
            reading.first_skipped[earlier:] = [sanitize_line(each.replace(str(path), name)) for each in told]
    if not used:
        raise nothing_read(files, reading.first_skipped)
    return used


def _passage_lines(name: str, path: Path, reading: CorpusReading) -> Iterator[bytes]:
    seen = set[str]()
    for record in open_corpus(path).records(reading):
        passage = StoredPassage(record.id, record.title, record.text)
        repeated = f"the id {record.id!r:.80} already exists" if record.id in seen else ""
        if problem := reason_not_to_store(passage) or repeated:
            reading.reject(record.file, record.line, problem)
            continue
        seen.add(record.id)
        # The id of a plain-text passage already begins with the file's name.
        key = f"{name}#{record.id.removeprefix(f'{path.name}#')}"
        source = record.metadata.get("source", path.name)
        metadata = {**record.metadata, "source": name if source == path.name else source}
        yield encode_passage(passage._replace(id=key, metadata=metadata))


def _passages_of(index: Path, files: Sequence[str], gone: Container[str]) -> list[str]:
    """Return the ids of the passages of a corpus's removed files."""

    def file_of(key: str) -> str:
        """Return the file that a passage's id names, else the first, as in corpora of a single file."""
        return max((name for name in files if key.startswith(f"{name}#")), key=len, default=files[0])

    stored = open_index(index).passages
    return [key for row in range(len(stored)) if file_of(key := stored[row].id) in gone]


def main() -> None:
    """Run the job from standard input."""
    job = _JOB.validate_json(sys.stdin.buffer.read())
    limit_process(job["max_seconds"], job["max_memory"])
    if hasattr(os, "nice"):
        os.nice(10)  # the server comes first
    lines, sys.stdout = sys.stdout.buffer, sys.stderr  # keep what libraries print apart

    def say(line: _Line) -> None:
        lines.write(_LINE.dump_json(line) + b"\n")
        lines.flush()

    try:
        say(build_corpus(job, say))
    except HopgraphError as error:
        say(str(error))
    except MemoryError:
        say(_too_much(job))
    except OSError as error:
        say(f"the documents cannot be stored: {error.strerror or error}")


if __name__ == "__main__":
    main()
