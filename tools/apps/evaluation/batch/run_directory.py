"""The directory of a run: what is finished is on disk at once and survives a kill.

    manifest.json         what the run was made with
    questions.jsonl       the questions that were chosen, with their gold answers
    results/METHOD.jsonl  one line per finished question
    traces/METHOD.gz      the steps of each of them, one gzip member each
    cache/N/              the replies of repeat N, so that no reply is paid for twice
    summary.json          the scores

A line is written in one piece and handed to the system before the next question begins. What a kill leaves
half-written (the end of a file) is truncated when the run is opened again.
"""

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from pydantic import TypeAdapter, ValidationError

from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.batch.outcome import Outcome, OutcomeKey, outcome_key
from hopgraph.tools.apps.evaluation.batch.run_manifest import MANIFEST, RunManifest, merge_manifests, read_run_manifest
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.io.file_lock import HAS_LOCKS, try_lock

SUMMARY = "summary.json"
DOWNLOADED = "dataset-"
"""The beginning of the name of a data set's file that was downloaded from the hub."""
_LOCK, _QUESTIONS, _RESULTS, _TRACES, _CACHE = ".lock", "questions.jsonl", "results", "traces", "cache"
_QUESTION = TypeAdapter(EvalQuestion)


class RunReader:
    """A run on disk; also while it is being written."""

    def __init__(self, folder: Path) -> None:
        """Open a run to read it.

        Raises:
            RunError: there is none, or it is damaged.
        """
        self.folder = folder
        self.manifest = read_run_manifest(folder)

    def questions(self) -> list[EvalQuestion]:
        """Read the questions that were chosen.

        Raises:
            RunError: their file is missing or damaged.
        """
        path = self.folder / _QUESTIONS
        try:
            return [_QUESTION.validate_json(line) for line in path.read_bytes().splitlines()]
        except (OSError, ValidationError) as error:
            reason = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
            raise RunError(f"{path}: cannot be read: {reason}; start a new run in another folder") from None

    def outcomes(self, method: str) -> Iterator[Outcome]:
        """Read what a method has finished, one at a time; a retried question has two.

        Raises:
            RunError: a line that is not the last one is damaged.
        """
        path = self._results(method)
        if not path.exists():
            return
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    return  # being written, or cut off by a kill
                try:
                    yield cast("Outcome", json.loads(line))
                except ValueError:
                    raise RunError(f"{path}:{number}: not valid JSON; remove this line to ask again") from None

    def latest(self, method: str) -> dict[OutcomeKey, Outcome]:
        """Read what a method has finished; of a retried question the last outcome counts."""
        return {outcome_key(outcome): outcome for outcome in self.outcomes(method)}

    def trace(self, outcome: Outcome) -> Mapping[str, Any]:
        """Read the record of one question with all its steps, as `hopgraph ask --json` writes it.

        Raises:
            RunError: none was kept, or it is damaged.
        """
        if not outcome["trace"]:
            raise RunError(f"{outcome['method']} {outcome['id']}: the run kept no steps (--no-traces)")
        offset, length = outcome["trace"]
        try:
            with self._traces(outcome["method"]).open("rb") as file:
                file.seek(offset)
                return cast("Mapping[str, Any]", json.loads(gzip.decompress(file.read(length))))
        except (OSError, EOFError, ValueError) as error:
            raise RunError(f"{self._traces(outcome['method'])}: cannot be read: {error}") from None

    def _results(self, method: str) -> Path:
        return self.folder / _RESULTS / f"{method}.jsonl"

    def _traces(self, method: str) -> Path:
        return self.folder / _TRACES / f"{method}.gz"


class RunWriter(RunReader):
    """A run that is being made; one process at a time."""

    def __init__(self, folder: Path, manifest: RunManifest, questions: list[EvalQuestion]) -> None:
        """Start a run, or resume one.

        Raises:
            RunError: the folder holds something else, is in use, or its run was started with other settings.
            OSError: it cannot be written.
        """
        self.folder = folder
        for part in (_RESULTS, _TRACES):
            (self._check_folder() / part).mkdir(parents=True, exist_ok=True)
        self._files: dict[Path, BinaryIO] = {}
        self._lock = self._acquire_lock()
        try:
            self.manifest = self._write_manifest(manifest, questions)
            self.finished = self._truncate_partial()
            """Finished questions, and whether each failed."""
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Self:
        """Return the run."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its files and release the lock."""
        for file in (*self._files.values(), self._lock):
            file.close()

    def cache(self, repeat: int) -> str:
        """Return the folder of a repeat's replies."""
        return str(self.folder / _CACHE / str(repeat))

    def add(self, outcome: Outcome, record: bytes | None) -> None:
        """Write a finished question; blocks until the operating system has it.

        Args:
            outcome: what came of it; `trace` is filled in here.
            record: its compressed record, as `packed` makes it.

        Raises:
            OSError: the disk is full or gone.
        """
        if record:
            file = self._append_to(self._traces(outcome["method"]))
            outcome["trace"] = [file.tell(), len(record)]
            file.write(record)
            file.flush()
        results = self._append_to(self._results(outcome["method"]))
        results.write(f"{json.dumps(outcome)}\n".encode("ascii"))
        results.flush()
        self.finished[outcome_key(outcome)] = bool(outcome["error"])

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the scores in place of earlier ones."""
        _write_whole(self.folder / SUMMARY, f"{json.dumps(summary, indent=2)}\n".encode("ascii"))

    def _write_manifest(self, manifest: RunManifest, questions: list[EvalQuestion]) -> RunManifest:
        if (self.folder / MANIFEST).exists():
            manifest = merge_manifests(read_run_manifest(self.folder), manifest)
        else:
            lines = b"".join(_QUESTION.dump_json(question) + b"\n" for question in questions)
            _write_whole(self.folder / _QUESTIONS, lines)
        _write_whole(self.folder / MANIFEST, f"{manifest.model_dump_json(indent=2)}\n".encode())
        return manifest

    def _append_to(self, path: Path) -> BinaryIO:
        if path not in self._files:
            self._files[path] = path.open("ab")
        return self._files[path]

    def _check_folder(self) -> Path:
        if self.folder.exists() and not (self.folder / MANIFEST).exists():
            setup_files = {"corpus", "corpus.jsonl", "renaming.json"}
            own = {_LOCK, _QUESTIONS, _RESULTS, _TRACES, _CACHE, *setup_files}
            names = [path.name for path in self.folder.iterdir() if path.name not in own]
            others = sorted(name for name in names if not name.startswith(DOWNLOADED))
            if others:
                raise RunError(f"{self.folder} is not an evaluation run (it has {others[0]}); choose another --out")
        return self.folder

    def _acquire_lock(self) -> BinaryIO:
        lock = (self.folder / _LOCK).open("wb")
        if HAS_LOCKS and not try_lock(lock):
            lock.close()
            raise RunError(f"{self.folder}: another evaluation is writing it; wait for it to end")
        return lock

    def _truncate_partial(self) -> dict[OutcomeKey, bool]:
        """Truncate what a kill left half-written; return what is finished."""
        finished: dict[OutcomeKey, bool] = {}
        for method in self.manifest.methods:
            kept = traced = 0
            path = self._results(method)
            for outcome in self.outcomes(method):
                finished[outcome_key(outcome)] = bool(outcome["error"])
                traced = max(traced, sum(outcome["trace"]))
            if path.exists():
                kept = path.read_bytes().rfind(b"\n") + 1
                os.truncate(path, kept)
            if self._traces(method).exists():
                os.truncate(self._traces(method), traced)
        return finished


def compress_record(record: Mapping[str, Any]) -> bytes:
    """Compress a question's record; call it in a thread."""
    return gzip.compress(json.dumps(record, ensure_ascii=True).encode("ascii"), compresslevel=3, mtime=0)


def _write_whole(path: Path, content: bytes) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(content)
    part.replace(path)
