"""Read a run that `hopgraph ask` saved, to draw it."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from hopgraph.state import RunError, StepEvent

_SOURCE = "hopgraph ask … --json > FILE, or --save FILE"


class SavedRun(TypedDict):
    """The fields of a saved run that a drawing needs."""

    question: str
    method: str
    trace: list[StepEvent]


_RUN: TypeAdapter[SavedRun] = TypeAdapter(SavedRun)


def read_run(path: Path) -> SavedRun:
    """Return a saved run; other fields of the file are ignored.

    Raises:
        OSError: the file cannot be read. RunError: it is not a saved run; the message says what is wrong.
    """
    try:
        found: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise RunError(f"{path}: no JSON; give a file made by: {_SOURCE}") from None
    try:
        return _RUN.validate_python(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise RunError(f"{path}: no run: {place}: {first['msg']}; give a file made by: {_SOURCE}") from None
