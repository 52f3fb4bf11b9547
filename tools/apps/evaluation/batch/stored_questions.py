"""The chosen questions of a run, kept with it, so that it can be read without the data set."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion

_QUESTION = TypeAdapter(EvalQuestion)


def write_stored(path: Path, questions: Sequence[EvalQuestion]) -> None:
    """Write questions, one a line, in place of earlier ones.

    Raises:
        OSError: they cannot be written.
    """
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        for question in questions:
            file.write(_QUESTION.dump_json(question) + b"\n")
    part.replace(path)


def read_stored(path: Path) -> list[EvalQuestion]:
    """Read questions back, in their order.

    Raises:
        RunError: the file is missing or damaged.
    """
    try:
        return [_QUESTION.validate_json(line) for line in path.read_bytes().splitlines()]
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
        raise RunError(f"{path}: cannot be read: {reason}; start a new run in another folder") from None
