"""What model calls cost: a table that users write."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hopgraph.state import SettingsError

_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelPrice(BaseModel):
    """The price of a model, for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: _Amount
    completion: _Amount


_TABLE = TypeAdapter(dict[str, ModelPrice])


@dataclass(frozen=True)
class PriceTable:
    """Prices by the beginning of a model's spec or name."""

    prices: dict[str, ModelPrice] = field(default_factory=dict[str, ModelPrice])

    def price(self, model: str, prompt_tokens: int, completion_tokens: int) -> float:
        """Price a call by the longest entry that the model's name begins with; 0 where there is none."""
        longest = max(filter(model.startswith, self.prices), key=len, default=None)
        if longest is None:
            return 0.0
        chosen = self.prices[longest]
        return (prompt_tokens * chosen.prompt + completion_tokens * chosen.completion) / 1_000_000

    def knows(self, model: str) -> bool:
        """Whether a model has a price."""
        return model.startswith(tuple(self.prices))


def read_prices(path: Path | None) -> PriceTable:
    """Read a table of prices for a million tokens, in TOML.

    As in:

        ["openai:gpt-4.1-mini"]
        prompt = 0.40
        completion = 1.60

    Args:
        path: the file; None for an empty table, since prices change.

    Raises:
        SettingsError: it cannot be read, or an entry is not a price.
    """
    if path is None:
        return PriceTable()
    try:
        return PriceTable(_TABLE.validate_python(tomllib.loads(path.expanduser().read_text(encoding="utf-8"))))
    except OSError as error:
        raise SettingsError(f"--prices {path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise SettingsError(f"--prices {path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except ValueError as error:  # not UTF-8, or not TOML
        raise SettingsError(f"--prices {path}: not a TOML file: {error}") from None
