"""A run as plain JSON: what `hopgraph ask --json` prints, an evaluation stores and a drawing reads."""

import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, cast

from hopgraph.state import Context, StepEvent
from hopgraph.tools.io.redact import redact
from hopgraph.tools.resources import describe_settings


def answer_record(settings: Context, state: Mapping[str, Any], trace: Sequence[StepEvent]) -> dict[str, Any]:
    """Return a run as plain JSON, with all settings that it takes to repeat it.

    Infinite numbers (a threshold) become null. API keys are removed.
    """
    model, retriever = describe_settings(settings)
    record = {
        "question": state["question"],
        "method": settings.method,
        "model": model,
        "retriever": redact(retriever),
        "answer": state["answer"],
        "explanation": state["explanation"],
        "confidence": state.get("confidence"),
        "citations": state["citations"],
        "stop_reason": state["stop_reason"],
        "usage": state["usage"],
        "settings": _without_keys(settings.model_dump(mode="json")),
        "version": version("hopgraph"),
        "trace": trace,
    }
    return cast("dict[str, Any]", _finite(record))


def _without_keys(value: object) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _without_keys(entry) for key, entry in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list):
        return [_without_keys(entry) for entry in cast("list[object]", value)]
    return value


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in cast("Sequence[object]", value)]
    return value
