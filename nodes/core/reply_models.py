"""What every reply of a model has in common."""

from collections.abc import Mapping
from typing import Annotated, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from hopgraph.state.schemas import MAX_QUESTION_CHARACTERS


def _short(text: str) -> str:
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise ValueError(f"at most {MAX_QUESTION_CHARACTERS:,} characters, got {len(text):,}")
    return text


ShortText = Annotated[str, AfterValidator(_short)]
"""A question or an answer: a longer text than `MAX_QUESTION_CHARACTERS` is neither, and is refused."""


class ReplyModel(BaseModel):
    """A record that a model writes: a number may stand for a text, and `null` for what may be left out."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        fields = cast("Mapping[str, object]", value)
        return {name: entry for name, entry in fields.items() if entry is not None}
