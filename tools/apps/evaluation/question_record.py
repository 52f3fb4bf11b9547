"""Fields that the records of all data sets share, and their types."""

import json
import math
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Annotated, cast

import yaml
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


def _as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [] if value is None else [value]


def _list_answers(value: object) -> list[object]:
    """List one answer or several, also as a table writes a list; null is none: the question cannot be answered."""
    if isinstance(value, str) and value.lstrip()[:2] in ('["', "['", "[]"):
        try:
            value = yaml.safe_load(value)  # it reads lists as JSON and as Python writes them
        except yaml.YAMLError:
            raise ValueError("a list that cannot be read; write it as JSON") from None
    answers = [form for answer in _as_list(value) for form in _list_forms(answer)]
    if any(isinstance(each, str) and not each.strip() for each in answers):
        raise ValueError("empty; give one, or null where the question cannot be answered")
    return answers


def _list_forms(answer: object) -> list[object]:
    """List the forms of one answer that may be an object: SQuAD's, KILT's, Mintaka's, ComplexWebQuestions'."""
    if not isinstance(answer, dict):
        return [answer]
    known = cast("dict[str, object]", answer)
    names = [key for key in ("text", "mention", "answer", "value") if key in known]
    if not names and "provenance" not in known:  # KILT names further passages without an answer
        raise ValueError(f"an object with {', '.join(known) or 'no keys'}, of which none is the answer's text")
    return _as_list(known[names[0]] if names else None) + _as_list(known.get("aliases"))


def last_user_message(value: object) -> object:
    """Take the question from a conversation, whose last message of the user it is; a text stays as it is."""
    for message in reversed(_as_list(value)):
        if isinstance(message, dict) and (said := cast("dict[str, object]", message)).get("role") == "user":
            return said.get("content")
    return value


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
