"""What every reply of a model has in common."""

from collections.abc import Mapping
from typing import cast

from pydantic import BaseModel, ConfigDict, model_validator


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
