"""What a run was made with: frozen when it starts, compared when it is resumed."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, Field, JsonValue, ValidationError

from hopgraph.state import Context, RunError
from hopgraph.state.context import DEFAULT_MODEL
from hopgraph.state.fingerprint import record_settings
from hopgraph.tools.apps.runs.answer_record import plain_json
from hopgraph.tools.io.redact import redact
from hopgraph.tools.prompts import read_demonstrations, read_prompt

MANIFEST = "manifest.json"
_LIBRARIES = ("hopgraph", "langgraph", "langchain-core", "langchain-openai", "bm25s", "numpy")

SIMULATED_MODELS = {"offline:": "offline", "rehearsal:": "rehearsal", "openai:rehearsal-": "rehearsal"}
"""How the specs of models begin that only simulate a language model, and their kinds; their scores say something about
methods, nothing about models. The last is what `hopgraph rehearse` serves."""

GoldBy = Literal["ids", "titles", "none"]


class DatasetFacts(BaseModel, frozen=True, extra="forbid"):
    """Which questions are asked."""

    name: str
    """The file or folder, by name."""
    sha256: str
    """Of the file; of a folder, of its questions and qrels."""
    sample: str
    questions: int
    ids: str
    """SHA-256 over the ids of the questions, in order."""
    renamed: int | None = None
    """The seed with which people, places and works were renamed; None: they were not."""


class CorpusSource(BaseModel, frozen=True, extra="forbid"):
    """Where passages come from."""

    retriever: str
    """The spec; `contexts` for the pooled contexts of the data set."""
    fingerprint: str
    """Of the corpus, where the retriever has one; else empty."""
    gold_by: GoldBy
    """How gold passages are recognized among the retrieved ones."""


class RunManifest(BaseModel, frozen=True, extra="forbid"):
    """Everything that shapes the results of a run."""

    format_version: Literal[1] = 1
    dataset: DatasetFacts
    corpus: CorpusSource
    repeats: int
    methods: dict[str, dict[str, JsonValue]]
    """Method → its settings, without those of operation."""
    prompts: dict[str, dict[str, str]]
    """Method → SHA-256 of each of its prompt files."""
    libraries: dict[str, str] = Field(default_factory=lambda: {name: version(name) for name in _LIBRARIES})
    """The versions of what results depend on."""


def frozen_settings(settings: Context) -> dict[str, JsonValue]:
    """Return the settings that shape a result; objects as their class name, without keys.

    How fast requests are sent and how often they are retried shapes none; the retriever is in `corpus`.
    """
    record = record_settings(settings, without=("Operation",))
    del record["retriever"]
    return cast("dict[str, JsonValue]", plain_json(record, redacted=True))


def prompt_hashes(settings: Context) -> dict[str, str]:
    """Hash the prompt of each step of a method, with its demonstrations; PromptError where one cannot be used."""
    hashes: dict[str, str] = {}
    for step in sorted(settings.steps):
        role = f"{settings.method}/{step}"
        prompt = read_prompt(role, settings.prompts_dir)
        examples = read_demonstrations(role, settings.demonstrations, settings.prompts_dir)
        content = [prompt.instructions, prompt.input, *map(repr, examples)]
        hashes[step] = hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()
    return hashes


def file_hash(path: Path) -> str:
    """Hash a file, or the files of a folder of questions, without loading it."""
    digest = hashlib.sha256()
    files = [path] if path.is_file() else [path / "queries.jsonl", *sorted((path / "qrels").glob("*.tsv"))]
    for each in files:
        with each.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def read_run_manifest(folder: Path) -> RunManifest:
    """Read the manifest of a run; RunError where there is none, or it is damaged or of another version."""
    path = folder / MANIFEST
    try:
        return RunManifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise RunError(f"{folder} is not an evaluation run (it has no {MANIFEST})") from None
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
        raise RunError(f"{path}: cannot be used: {reason}; start a new run in another folder") from None


def merge_manifests(old: RunManifest, new: RunManifest) -> RunManifest:
    """Make the manifest of a resumed run: as it was, with the methods that are new.

    Other versions of the libraries do not stop a run; the manifest keeps those that it started with. RunError names
    the first few of other differences with their values.
    """
    known = old.methods.keys() & new.methods.keys()
    compared: Any = {"dataset": True, "corpus": True, "repeats": True, "methods": known, "prompts": known}
    before, after = (each.model_dump(mode="json", include=compared) for each in (old, new))
    if differences := list(_differences(before, after)):
        shown = "; ".join(differences[:3]) + (f"; and {len(differences) - 3} more" if len(differences) > 3 else "")
        raise RunError(
            f"this run was started with other settings: {shown}. Give the same settings, or choose another --out"
        )
    return old.model_copy(update={"methods": {**old.methods, **new.methods}, "prompts": {**old.prompts, **new.prompts}})


def _differences(old: JsonValue, new: JsonValue, place: str = "") -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(key), new.get(key), f"{place}.{key}" if place else str(key))
    elif old != new:
        yield f"{place} was {old!r:.60}, is now {new!r:.60}"


def models_in(settings: Mapping[str, JsonValue]) -> list[str]:
    """List the models of a method's settings as a manifest has them: of the method, and of single roles."""
    roles = settings.get("models")
    return [str(settings.get("model") or DEFAULT_MODEL), *(map(str, roles.values()) if isinstance(roles, dict) else [])]


def describe_simulated(methods: Iterable[Mapping[str, JsonValue]]) -> str:
    """Describe the models in methods' settings that only simulate a language model; empty where none does."""
    models = {redact(name) for settings in methods for name in models_in(settings)}
    names = sorted(name for name in models if name.startswith(tuple(SIMULATED_MODELS)))
    many = "none of which is a language model" if len(names) > 1 else "which is no language model"
    return f"answered by {', '.join(names)}, {many}" if names else ""
