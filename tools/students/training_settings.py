"""The settings of a training: by paper, with where each value is from."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hopgraph.state import SettingsError
from hopgraph.state.errors import describe_problem
from hopgraph.tools.io.guarded_files import read_source
from hopgraph.tools.students.student_record import MarkedSetting, StudentKind

PAPERS = ("genground", "ra_isf")


class TrainingSettings(BaseModel):
    """Hyperparameters of a training run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    learning_rate: float = Field(gt=0, lt=1)
    weight_decay: float = Field(ge=0, lt=1)
    epochs: float = Field(gt=0)
    batch: int = Field(ge=1)
    """Examples in one pass."""
    accumulation: int = Field(ge=1)
    """Passes in one step of the optimizer."""
    schedule: Literal["linear", "cosine", "constant", "constant_with_warmup"]
    warmup: float = Field(ge=0, lt=1)
    """Share of the steps."""
    max_length: int = Field(ge=16)
    """Tokens of prompt and reply together."""
    lora_rank: int = Field(ge=0)
    """0 trains all weights."""
    lora_alpha: int = Field(ge=1)
    lora_dropout: float = Field(ge=0, lt=1)
    precision: Literal["auto", "fp32", "bf16"]
    """auto: bf16 where the processor has instructions for it."""
    balance: bool
    """Whether examples of the rarer replies are repeated until all replies are about as frequent."""
    checkpoint_steps: int = Field(ge=1)
    seed: int = Field(ge=0)


def choose_settings(
    role: str, kind: StudentKind, given: Mapping[str, str], file: Path | None = None
) -> tuple[TrainingSettings, dict[str, MarkedSetting]]:
    """Return the settings of a role's paper, or of a file of the same form, with the given ones over them.

    Raises:
        SettingsError: no such paper, a file that cannot be read, or a setting that is unknown or out of bounds.
    """
    parts = _read(role.partition("/")[0], file)
    marked = {**parts.get("all", {}), **parts.get(kind, {})}
    marked |= {name: MarkedSetting(value=value, source="set") for name, value in given.items()}
    try:
        settings = TrainingSettings.model_validate({name: each.value for name, each in marked.items()})
    except ValidationError as error:
        known = ", ".join(TrainingSettings.model_fields)
        raise SettingsError(f"training settings: {describe_problem(error, got=True)}; known: {known}") from None
    used = settings.model_dump()
    return settings, {name: MarkedSetting(value=used[name], source=each.source) for name, each in marked.items()}


def _read(paper: str, file: Path | None) -> dict[str, dict[str, MarkedSetting]]:
    if file is None and paper not in PAPERS:
        raise SettingsError(f"there are no training settings for {paper!r}; name a file of them by --settings")
    try:
        own = files(__package__ or "").joinpath("settings", f"{paper}.yaml")
        text = own.read_text("utf-8") if file is None else read_source(file).decode()
        parts = cast("dict[str, dict[str, Any]]", yaml.safe_load(text))
        return {
            part: {name: MarkedSetting(value=value, source=source) for name, (value, source) in settings.items()}
            for part, settings in parts.items()
        }
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise SettingsError(f"training settings {file or paper}: {describe_problem(error)}") from None
