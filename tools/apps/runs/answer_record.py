"""A run as plain JSON, as `hopgraph ask --json` prints it, an evaluation stores it, and a drawing reads it."""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from hopgraph.state import Context, RunError, StepEvent
from hopgraph.state.errors import format_error
from hopgraph.tools.io.guarded_files import read_source
from hopgraph.tools.io.redact import redact
from hopgraph.tools.resources import describe_settings


class SavedRun(TypedDict):
    """The fields of a saved run that a drawing needs."""

    question: str
    method: str
    trace: list[StepEvent]


_RUN: TypeAdapter[SavedRun] = TypeAdapter(SavedRun)


def read_run(path: Path) -> SavedRun:
    """Return a saved run, without the file's other fields; RunError if it is not one."""
    try:
        return _RUN.validate_python(json.loads(read_source(path, pipe=True)))
    except ValidationError as error:
        problem = f"not a saved run: {format_error(error, whole='the file')}"
    except (ValueError, RecursionError):
        problem = "not JSON"
    raise RunError(f"{path}: {problem}; use a file written by: hopgraph ask … --json > FILE, or --save FILE")


def answer_record(settings: Context, state: Mapping[str, Any], trace: Sequence[StepEvent]) -> dict[str, Any]:
    """Return a run as plain JSON, with all settings needed to repeat it, without API keys."""
    model, retriever = describe_settings(settings)
    record = {
        "question": state["question"],
        "method": settings.method,
        "model": model,
        "retriever": redact(retriever),
        "answer": state["answer"],
        "markdown": state["markdown"],
        "explanation": state["explanation"],
        "confidence": state.get("confidence"),
        "citations": state["citations"],
        "stop_reason": state["stop_reason"],
        "usage": state["usage"],
        "settings": plain_json(settings.model_dump(mode="json"), redacted=True),
        "version": version("hopgraph"),
        "trace": trace,
    }
    return cast("dict[str, Any]", plain_json(record))


def plain_json(value: object, *, redacted: bool = False) -> object:
    """Return a value with infinite numbers (a threshold) as null, and without API keys if `redacted`."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return redact(value) if redacted else value
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value).items()
        return {key: plain_json(entry, redacted=redacted) for key, entry in entries}
    if isinstance(value, list | tuple):
        return [plain_json(entry, redacted=redacted) for entry in cast("Sequence[object]", value)]
    return value
