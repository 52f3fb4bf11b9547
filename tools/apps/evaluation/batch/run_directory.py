"""The directory of a run: what is finished is on disk at once, and stays there whatever happens.

    manifest.json         what the run was made with
    questions.jsonl       the questions that were chosen, with their gold answers
    results/METHOD.jsonl  one line per finished question
    traces/METHOD.gz      the steps of each of them, one gzip member each
    cache/N/              the replies of repeat N, so that what was paid for is not paid for again
    summary.json          the scores

A line is written in one piece and handed to the system before the next question begins. What a kill leaves
half written (the end of a file) is cut off when the run is opened again.
"""

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.batch.outcome import Outcome, OutcomeKey, outcome_key
from hopgraph.tools.apps.evaluation.batch.run_manifest import MANIFEST, RunManifest, merge_manifests, read_run_manifest
from hopgraph.tools.apps.evaluation.batch.stored_questions import read_stored, write_stored
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.io.file_lock import HAS_LOCKS, try_lock

SUMMARY = "summary.json"
DOWNLOADED = "dataset-"
"""How the file of a data set begins that came from the hub."""
_LOCK, _QUESTIONS, _RESULTS, _TRACES, _CACHE = ".lock", "questions.jsonl", "results", "traces", "cache"


class RunReader:
    """A run as it lies on disk; also while it is written."""

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
        return read_stored(self.folder / _QUESTIONS)

    def outcomes(self, method: str) -> Iterator[Outcome]:
        """Read what a method has finished, one at a time; of two for one question the later one comes too.

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
        """Read what a method has finished; a question that was tried again counts as it ended last."""
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
        """Begin a run, or go on with one.

        Raises:
            RunError: the folder holds something else, is in use, or its run was begun otherwise.
            OSError: it cannot be written.
        """
        self.folder = folder
        for part in (_RESULTS, _TRACES):
            (self._checked() / part).mkdir(parents=True, exist_ok=True)
        self._files: dict[Path, BinaryIO] = {}
        self._lock = self._locked()
        try:
            self.manifest = self._begun(manifest, questions)
            self.finished = self._mended()
            """What needs not be asked again, with whether it failed."""
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Self:
        """Hand out the run itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its files and let others write."""
        for file in (*self._files.values(), self._lock):
            file.close()

    def cache(self, repeat: int) -> str:
        """Name the folder of a repeat's replies."""
        return str(self.folder / _CACHE / str(repeat))

    def add(self, outcome: Outcome, record: bytes | None) -> None:
        """Write a finished question; blocks until the system has it.

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
        _write_whole(self.folder / SUMMARY, f"{json.dumps(summary, indent=2)}\n")

    def _begun(self, manifest: RunManifest, questions: list[EvalQuestion]) -> RunManifest:
        if (self.folder / MANIFEST).exists():
            manifest = merge_manifests(read_run_manifest(self.folder), manifest)
        else:
            write_stored(self.folder / _QUESTIONS, questions)
        _write_whole(self.folder / MANIFEST, f"{manifest.model_dump_json(indent=2)}\n")
        return manifest

    def _append_to(self, path: Path) -> BinaryIO:
        if path not in self._files:
            self._files[path] = path.open("ab")
        return self._files[path]

    def _checked(self) -> Path:
        if self.folder.exists() and not (self.folder / MANIFEST).exists():
            made_before = {"corpus", "corpus.jsonl", "renaming.json"}
            own = {_LOCK, _QUESTIONS, _RESULTS, _TRACES, _CACHE, *made_before}
            names = [path.name for path in self.folder.iterdir() if path.name not in own]
            others = sorted(name for name in names if not name.startswith(DOWNLOADED))
            if others:
                raise RunError(f"{self.folder} is no evaluation run (it has {others[0]}); choose another --out")
        return self.folder

    def _locked(self) -> BinaryIO:
        lock = (self.folder / _LOCK).open("wb")
        if HAS_LOCKS and not try_lock(lock):
            lock.close()
            raise RunError(f"{self.folder}: another evaluation is writing it; wait for it to end")
        return lock

    def _mended(self) -> dict[OutcomeKey, bool]:
        """Cut off what a kill left half written; tell what is finished."""
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
    """Compress a question's record; belongs in a thread."""
    return gzip.compress(json.dumps(record, ensure_ascii=True).encode("ascii"), compresslevel=3, mtime=0)


def _write_whole(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
