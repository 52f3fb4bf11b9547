"""Fields that the records of all data sets share, and their types."""

import json
import math
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, StringConstraints

from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion


def read_json_text(value: object) -> object:
    """Read a field that a table holds as JSON text; other text stays as it is."""
    if isinstance(value, str):
        with suppress(ValueError):
            return json.loads(value)
    return value


def _write_value(value: object) -> object:
    """Write a number or a truth value as an answer; a whole number has no decimals, though pandas gives it some."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and math.isfinite(value):
        return f"{value:.0f}" if value % 1 == 0 else str(value)
    return value


def _list_answers(value: object) -> list[object]:
    """List one answer or several, as SQuAD under `text`; null is none: the question cannot be answered."""
    if isinstance(value, dict):
        value = cast("dict[str, object]", value).get("text")
    answers = [] if value is None else cast("list[object]", value) if isinstance(value, list) else [value]
    if any(isinstance(each, str) and not each.strip() for each in answers):
        raise ValueError("empty; give one, or null where the question cannot be answered")
    return answers


NonEmptyText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
ScalarText = Annotated[str, BeforeValidator(_write_value)]
AnswerText = Annotated[NonEmptyText, BeforeValidator(_write_value)]
AnswerList = Annotated[list[AnswerText], BeforeValidator(_list_answers)]


class DatasetRecord(BaseModel, ABC):
    """A question as a data set has it."""

    question: NonEmptyText

    @abstractmethod
    def to_question(self, number: int) -> EvalQuestion:
        """Return the question; `number` is the id of one that has none. MalformedError: passages of another shape."""
