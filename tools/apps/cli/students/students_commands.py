"""The commands `train` and `check-student`. Their work is imported when they run."""

from pathlib import Path
from typing import Annotated

import typer

from hopgraph.tools.apps.cli.command_options import JsonOption, examples, takes
from hopgraph.tools.apps.cli.students.students_options import TrainOptions

students = typer.Typer()

_TRAIN_EXAMPLES = examples(
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher gold --out relevance-data",
    "hopgraph train relevance-data --student smollm2 --out relevance-student",
    "hopgraph train relevance-data --student minilm --out relevance-classifier --set balance=yes",
    "hopgraph train relevance-data --student mistralai/Mistral-7B-v0.1 --full --out relevance-7b",
    "accelerate launch --no_python hopgraph train relevance-data --student meta-llama/Llama-2-7b-hf --out relevance-7b",
    'hopgraph ask "…" --method ra_isf --set judge=each --set \'models={"ra_isf/judge_relevance": "student:DIR"}\'',
)
_CHECK_EXAMPLES = examples(
    "hopgraph check-student student:relevance-student held-out-data --before student:smollm2",
    "hopgraph check-student openai:gpt-4.1-mini held-out-data --json",
)


@students.command(epilog=_TRAIN_EXAMPLES)
@takes(TrainOptions)
def train(options: TrainOptions) -> None:
    """Train a small model on the examples of `hopgraph distill`, to play a role as student:STUDENT.

    Needs the extra `train`. The settings are those of the role's paper; student.json says of each whether the paper
    states it. The same command resumes a training that was interrupted.
    """
    from hopgraph.tools.apps.cli.students.train_command import run_train

    run_train(options)


@students.command("check-student", epilog=_CHECK_EXAMPLES)
def check_student(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A model, as student:STUDENT or openai:NAME.")],
    data: Annotated[Path, typer.Argument(metavar="DIR", help="Examples that it was not trained on.")],
    before: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Compare with this model, as student:smollm2.")
    ] = None,
    parallel: Annotated[int, typer.Option(metavar="N", min=1, help="Requests at a time.")] = 16,
    as_json: JsonOption = False,
) -> None:
    """Measure how often a model replies as the examples of `hopgraph distill` do, with 95 % intervals by question."""
    from hopgraph.tools.apps.cli.students.check_command import run_check

    run_check(spec, data, before=before, parallel=parallel, as_json=as_json)
