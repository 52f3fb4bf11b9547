"""The directory of a run: its setup and its finished questions, which are written at once and survive a kill.

    manifest.json         the run's settings and versions
    questions.jsonl       the selected questions, with their gold answers
    results/METHOD.jsonl  one line per finished question
    traces/METHOD.gz      the steps of each of them, one gzip member each
    cache/N/              the replies of repeat N, if they are not in the cache shared by the user's runs
    summary.json          the scores

Each line is written before the next question starts. A write interrupted by a kill is truncated when the run is
reopened. The folder and its files are private to their owner, and links in it are not followed.
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypeVar, cast

from pydantic import BaseModel, Field, JsonValue, TypeAdapter, ValidationError, field_validator
from typing_extensions import TypedDict

from hopgraph.state import Citation, Context, HopgraphError, RunError, StopReason, Usage
from hopgraph.state.context import DEFAULT_MODEL
from hopgraph.state.errors import format_error
from hopgraph.state.fingerprint import record_settings
from hopgraph.state.renamed import with_current_names
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.runs.answer_record import plain_json
from hopgraph.tools.io.guarded_files import (
    HAS_LOCKS,
    make_private,
    open_private,
    open_source,
    read_source,
    try_lock,
    write_files,
)
from hopgraph.tools.io.redact import redact
from hopgraph.tools.prompts import read_demonstrations, read_prompt
from hopgraph.tools.resources import OWN

MANIFEST = "manifest.json"
_LIBRARIES = ("hopgraph", "langgraph", "langchain-core", "langchain-openai", "bm25s", "numpy")

SIMULATED_MODELS = ("offline:", "rehearsal:")
"""Spec prefixes of models that only simulate a language model, so that their scores are meaningless for real ones."""

GoldBy = Literal["ids", "titles", "none"]
GOLD_EXPECTED = 0.9
"""The share of gold passages that a corpus should have; below it, every table reports the number found."""
DOWNLOADED = "dataset-"
"""The prefix of a data-set file that was downloaded from the hub."""
_LOCK, _QUESTIONS, _RESULTS, _TRACES, _CACHE = ".lock", "questions.jsonl", "results", "traces", "cache"
_SETUP_FILES = frozenset({_QUESTIONS, _RESULTS, _TRACES, _CACHE, "corpus", "corpus.jsonl", "renaming.json"})
_OWN_FILES = frozenset({MANIFEST, _LOCK, *_SETUP_FILES})
_QUESTION = TypeAdapter(EvalQuestion)

RecordT = TypeVar("RecordT")


class DatasetInfo(BaseModel, frozen=True, extra="forbid"):
    """The questions of a run."""

    name: str
    """Name of the file or folder."""
    sha256: str
    """Hash of the file, or of a folder's questions and qrels."""
    sample: str
    questions: int
    ids: str
    """SHA-256 over the ids of the questions, in order."""
    label: str = ""
    """Its name in a study; else empty."""
    renamed: int | None = None
    """Seed for renaming people, places and works; None if they were not renamed."""


class CorpusSource(BaseModel, frozen=True, extra="forbid"):
    """The source of passages."""

    retriever: str
    """The retriever's spec; `contexts` for the pooled contexts of the data set."""
    fingerprint: str
    """Hash of the corpus, if available."""
    gold_by: GoldBy
    """How gold passages are recognized among the retrieved ones."""
    gold_found: int | None = None
    """Number of gold passages in the corpus; None if unknown, as in runs of earlier versions."""
    gold_sought: int | None = None


class RunManifest(BaseModel, frozen=True, extra="forbid"):
    """Everything that affects the results of a run."""

    format_version: Literal[1] = 1
    dataset: DatasetInfo
    corpus: CorpusSource
    repeats: int
    methods: dict[str, dict[str, JsonValue]]
    """Method → its settings, except those of the group Operation."""
    model_label: str = ""
    """Name of its model in a study; else empty."""
    prompts: dict[str, dict[str, str]]
    """Method → SHA-256 of each of its prompt files."""
    code: dict[str, str] = {}
    """Method → SHA-256 of the file with its graph, for methods not built into hopgraph."""
    libraries: dict[str, str] = Field(default_factory=lambda: {name: version(name) for name in _LIBRARIES})
    commit: str = ""
    """Git commit of the working directory, with `-dirty` if files differ; empty outside a repository."""

    @field_validator("methods")
    @classmethod
    def _rename_settings(cls, methods: dict[str, dict[str, JsonValue]]) -> dict[str, dict[str, JsonValue]]:
        return {name: with_current_names(settings) for name, settings in methods.items()}


def frozen_settings(settings: Context) -> dict[str, JsonValue]:
    """Return the settings that affect a result, except the retriever; objects as their class name, without keys.

    Prompts are excluded, as `prompt_hashes` identifies them independently of their source.
    """
    record = dict(record_settings(settings, without=("Operation", "Prompts")))
    del record["retriever"]
    if "model" in settings.unused_settings:
        record["model"] = OWN
    return cast("dict[str, JsonValue]", plain_json(record, redacted=True))


def prompt_hashes(settings: Context) -> dict[str, str]:
    """Hash the prompt of each step of a method, with its demonstrations; PromptError if one cannot be used."""
    hashes: dict[str, str] = {}
    steps = settings.steps if settings.answer_type in ("short", "yes_no") else settings.all_steps()
    for step in sorted(steps):
        role = f"{settings.method}/{step}"
        prompt = read_prompt(role, settings.prompt_folders, settings.prompt_of(step))
        examples = read_demonstrations(role, settings.demonstrations, settings.prompt_folders)
        content = [prompt.instructions, prompt.input, *map(repr, examples)]
        hashes[step] = hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()
    return hashes


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of the question files in a folder, without loading them into memory."""
    digest = hashlib.sha256()
    files = [path] if path.is_file() else [path / "queries.jsonl", *sorted((path / "qrels").glob("*.tsv"))]
    for each in files:
        with open_source(each) as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def describe_commit() -> str:
    """Return the Git commit of the working directory, for a RunManifest."""
    git = shutil.which("git")
    command = [git or "git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    found = subprocess.run(command, capture_output=True, text=True, check=False) if git else None  # noqa: S603 - fixed arguments
    return found.stdout.strip() if found and not found.returncode else ""


def read_run_manifest(folder: Path) -> RunManifest:
    """Read the manifest of a run; RunError if there is none, or it is damaged or of another version."""
    try:
        return RunManifest.model_validate_json(read_source(folder / MANIFEST))
    except FileNotFoundError:
        raise RunError(f"{folder} is not an evaluation run (it has no {MANIFEST})") from None
    except (OSError, ValidationError) as error:
        problem = f"{folder / MANIFEST}: cannot be used: {format_error(error)}"
        raise RunError(f"{problem}; start a new run in another folder") from None


def merge_manifests(old: RunManifest, new: RunManifest) -> RunManifest:
    """Return a resumed run's manifest with new methods added; RunError for other differences, except of libraries."""
    known = old.methods.keys() & new.methods.keys()
    by_method = ("methods", "prompts", "code")
    compared: Any = {
        "dataset": True,
        "corpus": {"retriever", "fingerprint", "gold_by"},
        "repeats": True,
        **dict.fromkeys(by_method, known),
    }
    before, after = (each.model_dump(mode="json", include=compared) for each in (old, new))
    if old.corpus.fingerprint == new.corpus.fingerprint != "":  # the same passages, whatever their path
        for each in (before, after):
            each["corpus"]["retriever"] = re.sub(r":[^?]*", ":…", each["corpus"]["retriever"], count=1)
    if differences := list(_differences(before, after)):
        shown = "; ".join(differences[:3]) + (f"; and {len(differences) - 3} more" if len(differences) > 3 else "")
        raise RunError(
            f"this run was started with other settings: {shown}. Use the same settings, or choose another --out"
        )
    return old.model_copy(update={name: {**getattr(old, name), **getattr(new, name)} for name in by_method})


def _differences(old: JsonValue, new: JsonValue, place: str = "") -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(key), new.get(key), f"{place}.{key}" if place else str(key))
    elif old != new and shown_model(str(old)) != shown_model(str(new)):
        yield f"{place} was {old!r:.60}, is now {new!r:.60}"


def models_in(settings: Mapping[str, JsonValue]) -> list[str]:
    """Return the models in a method's settings: the method's own, and those of single roles."""
    roles = settings.get("models")
    return [str(settings.get("model") or DEFAULT_MODEL), *(map(str, roles.values()) if isinstance(roles, dict) else [])]


def shown_model(spec: str) -> str:
    """Return a model's spec for tables, with only the name of a rehearsal's data set, without its folder."""
    if not spec.startswith("rehearsal:"):
        return spec
    path, mark, options = spec.removeprefix("rehearsal:").partition("?")
    return f"rehearsal:{Path(path).name}{mark}{options}"


def describe_simulated(methods: Iterable[Mapping[str, JsonValue]]) -> str:
    """Return a phrase that names the simulated models in methods' settings; empty if there are none."""
    models = {shown_model(redact(name)) for settings in methods for name in models_in(settings)}
    names = sorted(name for name in models if name.startswith(SIMULATED_MODELS))
    many = "none of which is a language model" if len(names) > 1 else "which is not a language model"
    return f"answered by {', '.join(names)}, {many}" if names else ""


def describe_missing_gold(manifest: RunManifest) -> str:
    """Return a warning if a run's corpus lacks too many gold passages; else an empty string."""
    found, sought = manifest.corpus.gold_found, manifest.corpus.gold_sought
    if found is None or not sought or found >= GOLD_EXPECTED * sought:
        return ""
    return (
        f"The corpus of {manifest.dataset.name} has {found:,} of {sought:,} gold passages; the others count as not "
        "retrieved, and answers cannot be grounded in them."
    )


class OutcomeKey(NamedTuple):
    """Identifies an outcome in a run; `id` is the question's, and repeats count from 0."""

    method: str
    id: str
    repeat: int


class Outcome(TypedDict):
    """A question that a method has finished (answered, abstained or failed): one line of the results."""

    method: str
    """The method, by its name in the manifest."""
    id: str
    """Id of the question, as in `questions.jsonl`."""
    repeat: int
    """Number of the repeat, from 0."""
    answer: str
    """Empty for an abstention or a failure."""
    explanation: str
    """The method's explanation of the answer; may be empty."""
    citations: list[Citation]
    """Passages that support the answer, in the order of its marks."""
    retrieved: list[str]
    """Ids of the retrieved passages, best first, without model knowledge."""
    titles: list[str]
    supported: bool | None
    """Whether the cited passages entail the answer; None if gold passages decide, or nothing is cited."""
    stop_reason: StopReason | Literal["failed"]
    """Why the method ended."""
    usage: Usage | None
    """None if it failed."""
    seconds: float
    """Wall time; small if replies came from the cache."""
    error: str
    """Why it failed, in one line; else empty."""
    confidence: NotRequired[int | None]
    """The model's stated confidence, 1 to 5; absent or None if the method does not ask for it, or has no answer."""
    citation_recall: NotRequired[float]
    """Citation recall of a long-form answer, see `CitationScores`; absent for short answers."""
    citation_precision: NotRequired[float]
    trace: list[int]
    """Offset and length in bytes of its trace in the file of traces; empty if it was not stored."""
    scores: NotRequired[dict[str, float]]
    """Scores of `score_outcome` at the time of writing, from 0 to 1; tables recompute them. Absent in older runs."""


_OUTCOME = TypeAdapter(Outcome)


def read_json_lines(folder: Path, name: str, kind: TypeAdapter[RecordT]) -> Iterator[RecordT]:
    """Yield the records of a JSON Lines file, except a partial last one; RunError if it is unreadable or damaged."""
    try:
        lines = open_source(folder / name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{folder / name}: cannot be read: {error.strerror}") from None
    with lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield kind.validate_json(line)
            except ValidationError as error:
                problem = f"{folder / name}:{number}: {format_error(error)}"
                raise RunError(f"{problem}; remove this line to ask the question again") from None


def append_json_line(folder: Path, name: str, record: Mapping[str, object]) -> None:
    """Append a record to a JSON Lines file."""
    with open_private(folder / name, "ab") as file:
        file.write(f"{json.dumps(record)}\n".encode("ascii"))


def truncate_partial_line(folder: Path, name: str) -> None:
    """Remove a last line left incomplete by a kill."""
    with suppress(FileNotFoundError), (folder / name).open("r+b") as file:
        file.truncate(file.read().rfind(b"\n") + 1)


class RunReader:
    """A run on disk, possibly still being written."""

    def __init__(self, folder: Path) -> None:
        """Open a run to read it; RunError if there is none, or it is damaged."""
        self.folder = folder
        self.manifest = read_run_manifest(folder)

    @property
    def folders(self) -> list[Path]:
        """The run's folder, or several if runs were merged."""
        return [self.folder]

    def questions(self) -> list[EvalQuestion]:
        """Return the selected questions; RunError if their file is missing or damaged."""
        try:
            with open_source(self.folder / _QUESTIONS) as lines:
                return [_QUESTION.validate_json(line) for line in lines]
        except (OSError, ValidationError) as error:
            problem = f"{self.folder / _QUESTIONS}: cannot be read: {format_error(error)}"
            raise RunError(f"{problem}; start a new run in another folder") from None

    def outcomes(self, method: str) -> Iterator[Outcome]:
        """Yield a method's outcomes, as `read_json_lines` does; a retried question occurs twice."""
        return read_json_lines(self.folder, _results(method), _OUTCOME)

    def latest(self, method: str) -> dict[OutcomeKey, Outcome]:
        """Return a method's outcomes, the last one of each retried question."""
        return {OutcomeKey(method, each["id"], each["repeat"]): each for each in self.outcomes(method)}

    def trace(self, outcome: Outcome) -> Mapping[str, Any]:
        """Return a question's record, in the format of `hopgraph ask --json`; RunError if it is missing or damaged."""
        if not outcome["trace"]:
            raise RunError(f"{outcome['method']} {outcome['id']}: the run kept no steps (--no-traces)")
        name = _traces(outcome["method"])
        try:
            offset, length = outcome["trace"]
            with open_source(self.folder / name) as file:
                file.seek(offset)
                return cast("Mapping[str, Any]", json.loads(gzip.decompress(file.read(length))))
        except (OSError, EOFError, ValueError, OverflowError, MemoryError, zlib.error) as error:
            raise RunError(f"{self.folder / name}: cannot be read: {error}") from None


def _results(method: str) -> str:
    return f"{_RESULTS}/{method}.jsonl"


def _traces(method: str) -> str:
    return f"{_TRACES}/{method}.gz"


class RunWriter(RunReader, AbstractContextManager["RunWriter"]):
    """A run being written, by one process at a time."""

    def __init__(
        self, folder: Path, manifest: RunManifest, questions: list[EvalQuestion], replies: Path | None = None
    ) -> None:
        """Start or resume a run, with its reply cache in the folder of another run (`replies`), if given.

        RunError: the folder is in use, or has other contents or settings.
        """
        self.folder = folder
        self._replies = (replies or folder) / _CACHE
        self._check_folder()
        for part in (folder, folder / _RESULTS, folder / _TRACES, self._replies):
            make_private(part)
        self._lock = open_private(folder / _LOCK, "wb")
        try:
            if HAS_LOCKS and not try_lock(self._lock):
                raise RunError(f"{folder}: another evaluation is writing to it; wait for it to end")
            self.manifest = self._write_manifest(manifest, questions)
            self.finished = self._truncate_partial()
            """Finished questions → whether they failed."""
            self.limit = ""
            """The limit that stopped this session, if any."""
        except BaseException:
            self._lock.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def cache(self, repeat: int) -> str:
        """Return the absolute folder of a repeat's replies."""
        return str((self._replies / str(repeat)).resolve())

    def add(self, outcome: Outcome, record: bytes | None) -> None:
        """Store a finished question, and its record from `compress_record`; set the outcome's `trace`."""
        if record:
            with open_private(self.folder / _traces(outcome["method"]), "ab") as file:
                outcome["trace"] = [file.tell(), len(record)]
                file.write(record)
        append_json_line(self.folder, _results(outcome["method"]), outcome)
        key = OutcomeKey(outcome["method"], outcome["id"], outcome["repeat"])
        self.finished[key] = bool(outcome["error"])

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Replace the stored scores."""
        content = f"{json.dumps(summary, indent=2)}\n".encode("ascii")
        write_files({self.folder / "summary.json": content}, private=True)

    def _check_folder(self) -> None:
        """Raise a RunError if the folder has anything but the remains of an interrupted setup."""
        if self.folder.exists() and not (self.folder / MANIFEST).exists():
            names = sorted({path.name for path in self.folder.iterdir()} - _SETUP_FILES)
            if other := next((name for name in names if not name.startswith((".", DOWNLOADED))), None):
                raise RunError(f"{self.folder} is not an evaluation run (it has {other}); choose another --out")

    def _write_manifest(self, manifest: RunManifest, questions: list[EvalQuestion]) -> RunManifest:
        files: dict[Path, bytes] = {}
        has_questions = (self.folder / MANIFEST).exists()
        if has_questions:
            old = read_run_manifest(self.folder)
            if self._is_larger(old.dataset, manifest.dataset, questions):
                counts = {name: getattr(manifest.corpus, name) for name in ("gold_found", "gold_sought")}
                corpus = old.corpus.model_copy(update=counts)
                old, has_questions = old.model_copy(update={"dataset": manifest.dataset, "corpus": corpus}), False
            manifest = merge_manifests(old, manifest)
        if not has_questions:
            files[self.folder / _QUESTIONS] = b"".join(_QUESTION.dump_json(question) + b"\n" for question in questions)
        files[self.folder / MANIFEST] = f"{manifest.model_dump_json(indent=2)}\n".encode()
        write_files(files, private=True)
        return manifest

    def _is_larger(self, old: DatasetInfo, new: DatasetInfo, questions: list[EvalQuestion]) -> bool:
        """Return whether the new questions are the old ones of the same data set, and more (a greater --limit)."""
        same = (old.name, old.sha256, old.renamed) == (new.name, new.sha256, new.renamed)
        return (
            same and old.questions < new.questions and self.questions()[: old.questions] == questions[: old.questions]
        )

    def _truncate_partial(self) -> dict[OutcomeKey, bool]:
        """Truncate incomplete writes after a kill; return the finished questions → whether they failed."""
        finished: dict[OutcomeKey, bool] = {}
        for method in self.manifest.methods:
            latest = self.latest(method)
            finished |= {key: bool(each["error"]) for key, each in latest.items()}
            truncate_partial_line(self.folder, _results(method))
            end = max((sum(each["trace"]) for each in latest.values()), default=0)
            with suppress(FileNotFoundError), (self.folder / _traces(method)).open("r+b") as file:
                file.truncate(min(end, file.seek(0, os.SEEK_END)))
        return finished


@contextmanager
def discarded_if_empty(folder: Path, *, estimate: bool = False) -> Generator[None]:
    """Remove the block's new run if it raises before anything was answered, so that other settings can be tried.

    Failures are kept, to be retried, unless the server refused. An `estimate` always removes it. Folders that had part
    of a run before, and data sets downloaded into the folder, are kept.
    """
    is_new = not (folder.is_dir() and _OWN_FILES & {path.name for path in folder.iterdir()})
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        yield
    except HopgraphError as error:
        if is_new:
            _remove_unanswered(folder, missing, refused=error.trouble == "refusal")
        raise
    if is_new and estimate:
        _remove_unanswered(folder, missing)


def _remove_unanswered(folder: Path, created: Iterable[Path], *, refused: bool = False) -> None:
    """Remove a run without outcomes worth keeping (answers, abstentions, failures unless `refused`) or replies."""
    results = (folder / _RESULTS).glob("*.jsonl")
    outcomes = [each for path in results for each in read_json_lines(folder, f"{_RESULTS}/{path.name}", _OUTCOME)]
    if finished := [each for each in outcomes if not each["error"]]:
        kept = any(each["answer"] or not (each["usage"] or {}).get("parse_failures") for each in finished)
    else:
        kept = (outcomes and not refused) or any(path.is_file() for path in (folder / _CACHE).rglob("*"))
    if kept or not folder.is_dir():
        return
    for path in (folder / name for name in _OWN_FILES):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    with suppress(OSError):  # one is not empty
        for each in created:
            each.rmdir()


def compress_record(record: Mapping[str, Any]) -> bytes:
    """Return a question's record as compressed JSON; call it in a thread."""
    return gzip.compress(json.dumps(record, ensure_ascii=True).encode("ascii"), compresslevel=3, mtime=0)
